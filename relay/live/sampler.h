// Sampler: makes a row of the history from the relay's counters. It runs each second, whether anyone looks or not, and
// takes some 30 µs.
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

  // If the relay has not started yet or has stopped, the row has only its time and no figures.
  LiveFeed::Sample Take(const RelayMetrics& metrics);
  const RecentLatencies& latencies() const { return latencies_; }

  // Says which classes of work feel their limit: averaged over some seconds, a tenth of an operation waited or some
  // were refused. A gate that paces makes a few operations wait for milliseconds, which no client feels.
  struct Felt {
    bool write = false;
    bool bulk = false;
    bool read = false;
  };
  Felt felt() const;

 private:
  // Counters and flags at one moment; rates and marks come from two of them.
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
  Waiters waiters_;  // averages; a second with refusals counts as one more waiter
  std::optional<Counts> before_;
  TimePoint before_at_{};
};

}  // namespace weir
