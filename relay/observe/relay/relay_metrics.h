// RelayMetrics: makes the texts that show the relay's figures: /metrics (for Prometheus), /api/metrics (JSON), and a
// page for the log (relay_state.h).
//
// RelayMetrics owns the RelayCounters. When it makes a text, it reads all other figures (server, store, group commit,
// throttle, RocksDB) from the objects that own them. Any thread may call any function.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"
#include "monitors/postgres/postgres_monitor.h"
#include "monitors/rocksdb_monitor.h"
#include "relay/account/ledger.h"
#include "relay/observe/metrics/exposition.h"
#include "relay/observe/metrics/metric_families.h"
#include "relay/observe/metrics/service_metrics.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/store/event_store.h"
#include "relay/store/group_commit.h"
#include "relay/store/siblings/siblings.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

// The sources of the figures that RelayMetrics does not own. If a source is empty or null, the texts do not have its
// figures.
struct MetricSources {
  ServiceSources service;
  std::function<StoreSizes()> store;
  std::function<GroupCommitStats()> group_commit;
  std::function<uint64_t()> subscriptions;  // number of open subscriptions
  std::function<uint64_t()> work_waiting;   // number of tasks that wait for a worker thread
  std::string data_dir;                     // to show the free space on its disk; empty: not shown
  const AdaptiveLimiter* limiter = nullptr;
  const LoadMonitor* monitor = nullptr;
  const RocksDbMonitor* rocksdb = nullptr;
  const PostgresMonitor* postgres = nullptr;
  std::function<PoolStats()> postgres_readers;  // the connections that read from PostgreSQL
  const Siblings* siblings = nullptr;
  const Ledger* ledger = nullptr;
  std::function<std::string()> last_failure;  // returns the newest failure of a write, in words
};
// Adds the metrics of all sources.
void AppendSources(const MetricSources& sources, MetricFamilies& families);

class RelayMetrics {
 public:
  // The clock must outlive this object.
  explicit RelayMetrics(const Clock& clock = Clock::System());

  RelayCounters& counters() { return counters_; }
  const RelayCounters& counters() const { return counters_; }

  // Replaces the sources. Waits for running calls of Prometheus and Json, but not for State or for callers that use a
  // copy from Sources: the previous sources must outlive these.
  void SetSources(MetricSources sources);
  MetricSources Sources() const;
  // Prometheus returns all figures in the text format of Prometheus, Json returns them as JSON. The text may be up to a
  // second old: making it reads all counts, and frequent requests must not keep an I/O thread busy.
  std::string Prometheus() const;
  std::string Json() const;
  // Returns the state page (relay_state.h). `why`, `ready` and `note` are the members of StateOccasion.
  std::string State(std::string why, Status ready, std::string note) const;

 private:
  // Computes the operations per second from two counts that were taken at least a second apart.
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

  mutable Mutex mutex_;
  MetricSources sources_ WEIR_GUARDED_BY(mutex_);
  mutable RateMeter reads_ WEIR_GUARDED_BY(mutex_);
  mutable RateMeter writes_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
