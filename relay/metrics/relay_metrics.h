// RelayMetrics: shows the relay's figures at /metrics and /api/metrics, and on the page of its state.
//
// The figures are those of RelayCounters, which it owns, and those that other rooms keep (server, store, group commit,
// throttle, RocksDB), which are read for each request.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/account/ledger.h"
#include "relay/metrics/exposition.h"
#include "relay/metrics/metric_families.h"
#include "relay/metrics/relay_counters.h"
#include "relay/server/server.h"
#include "relay/siblings/siblings.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

class Traces;

// The sources that /metrics asks for each request; each may be empty.
struct MetricSources {
  std::function<bool()> ready;  // whether /readyz says "ready"
  std::function<ServerStats()> server;
  std::function<StoreSizes()> store;
  std::function<GroupCommitStats()> group_commit;
  std::function<uint64_t()> subscriptions;
  std::function<uint64_t()> work_waiting;
  std::string data_dir;
  const AdaptiveLimiter* limiter = nullptr;
  const LoadMonitor* monitor = nullptr;
  const RocksDbMonitor* rocksdb = nullptr;
  const PostgresMonitor* postgres = nullptr;
  const Siblings* siblings = nullptr;
  const Traces* traces = nullptr;
  const Ledger* ledger = nullptr;
  std::function<std::string()> last_failure;            // the newest write that failed, in words
  std::function<void(MetricFamilies& families)> parts;  // RelayPart::AppendMetrics
};
void AppendSources(const MetricSources& sources, MetricFamilies& families);

class RelayMetrics {
 public:
  // The clock must outlive it.
  explicit RelayMetrics(const Clock& clock = Clock::System());

  RelayCounters& counters() { return counters_; }
  const RelayCounters& counters() const { return counters_; }

  void SetSources(MetricSources sources);
  MetricSources Sources() const;
  // Return a text that is up to a second old: making it is a walk over all counts, and frequent requests must not keep
  // an I/O thread busy.
  std::string Prometheus() const;  // text format
  std::string Json() const;
  // Returns the state for people, on a page (state_page.h).
  std::string State(std::string why, Status ready) const;

 private:
  // Operations a second between two moments at least a second apart.
  class RateMeter {
   public:
    double Update(uint64_t operations, TimePoint now);

   private:
    TimePoint since_{};
    uint64_t operations_ = 0;
    double rate_ = 0;
  };

  std::vector<prometheus::MetricFamily> Families() const;
  std::string MakeJson() const;

  RelayCounters counters_;

  const Clock& clock_;
  const double started_at_;  // seconds since 1970
  mutable CachedText prometheus_text_;
  mutable CachedText json_text_;

  mutable std::mutex mutex_;  // guards the members below
  MetricSources sources_;
  mutable RateMeter reads_;
  mutable RateMeter writes_;
};

}  // namespace weir
