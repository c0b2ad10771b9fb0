// Sampler: a row of the history, from what the relay counts. Taken each second whether anybody looks or not: some 30
// µs.
//
// Not thread-safe.
#pragma once

#include <optional>

#include "config/clock.h"
#include "relay/live/live_feed.h"
#include "relay/live/recent_latencies.h"
#include "relay/metrics/relay_metrics.h"

namespace weir {

class Sampler {
 public:
  // The clocks must outlive it.
  explicit Sampler(const Clock& clock = Clock::System(), const WallClock& wall_clock = WallClock::System())
      : clock_(clock), wall_clock_(wall_clock) {}

  // Where a relay is not there yet, or no longer, the row is empty.
  LiveFeed::Sample Take(const RelayMetrics& metrics);
  const RecentLatencies& latencies() const { return latencies_; }

  // Whether a class of work feels its limit: over some seconds a tenth of an operation waited on average, or some were
  // refused. A gate that paces makes a few wait for milliseconds, which nobody does feel.
  struct Felt {
    bool write = false;
    bool bulk = false;
    bool read = false;
  };
  Felt felt() const;

 private:
  // What only grows.
  struct Counts {
    ByClass<Flow> writes;
    ByClass<GateStats::Waits> write_waits;
    Flow reads;
    GateStats::Waits read_waits;
    double cpu_seconds = 0;
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t escapes = 0;
    bool emergency = false;
    bool sensor_lost = false;
  };
  static Counts CountsOf(const MetricSources& sources, const LimiterView& view);
  void SetRates(const Counts& now, double seconds, LiveRow* row) const;
  std::vector<LiveMark> MarksOf(const Counts& now, double at) const;
  void Feel(const Counts& now, double seconds);

  const Clock& clock_;
  const WallClock& wall_clock_;
  RecentLatencies latencies_;
  struct Waiters {
    double write = 0;
    double bulk = 0;
    double read = 0;
  };
  Waiters waiters_;  // averaged, refusals too
  std::optional<Counts> before_;
  TimePoint before_at_{};
};

}  // namespace weir
