// RelayMetrics: shows the relay's figures at /metrics (for Prometheus) and /api/metrics (JSON), and as a page for the
// log (state_page.h).
//
// It owns the RelayCounters. It reads all other figures (server, store, group commit, throttle, RocksDB) from their
// owners when a client asks for them.
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

// The sources of the figures that RelayMetrics does not own. A source that is empty or null is left out.
struct MetricSources {
  std::function<bool()> ready;  // whether /readyz says "ready"
  std::function<ServerStats()> server;
  std::function<StoreSizes()> store;
  std::function<GroupCommitStats()> group_commit;
  std::function<uint64_t()> subscriptions;  // number of open subscriptions
  std::function<uint64_t()> work_waiting;   // tasks that wait for a worker
  std::string data_dir;                     // to show the space on its disk
  const AdaptiveLimiter* limiter = nullptr;
  const LoadMonitor* monitor = nullptr;
  const RocksDbMonitor* rocksdb = nullptr;
  const PostgresMonitor* postgres = nullptr;
  const Siblings* siblings = nullptr;
  const Traces* traces = nullptr;
  const Ledger* ledger = nullptr;
  std::function<std::string()> last_failure;            // returns the newest failure of a write, in words
  std::function<void(MetricFamilies& families)> parts;  // RelayPart::AppendMetrics
};
// Adds the figures of all sources.
void AppendSources(const MetricSources& sources, MetricFamilies& families);

class RelayMetrics {
 public:
  // The clock must outlive this object.
  explicit RelayMetrics(const Clock& clock = Clock::System());

  RelayCounters& counters() { return counters_; }
  const RelayCounters& counters() const { return counters_; }

  // Replaces the sources. Does not wait for a request that still uses the previous sources: these must outlive such a
  // request.
  void SetSources(MetricSources sources);
  MetricSources Sources() const;
  // Prometheus returns all figures in Prometheus' text format, Json as JSON. The text may be a second old, because
  // making it reads all counts, and frequent requests must not keep an I/O thread busy.
  std::string Prometheus() const;
  std::string Json() const;
  // Returns the state page (state_page.h). `why` and `ready` are those of its StateOccasion.
  std::string State(std::string why, Status ready) const;

 private:
  // Computes operations a second from two counts that were taken at least a second apart.
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
