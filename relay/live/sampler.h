// Sampler: makes the rows of the live history from the relay's counters. The LiveFeed's thread calls Take each second,
// even if no operator watches; a call takes some 30 µs.
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
  // The clocks must outlive this object.
  explicit Sampler(const Clock& clock = Clock::System(), const WallClock& wall_clock = WallClock::System())
      : clock_(clock), wall_clock_(wall_clock) {}

  // Returns the row of this second, and marks for conditions that have begun or ended since the previous call. Figures
  // that need two calls, such as rates, have no value in the first row. If the relay has not started yet or has
  // stopped, the row has its time and no figures.
  LiveFeed::Sample Take(const RelayMetrics& metrics);
  // Returns the latencies of the last ten seconds.
  const RecentLatencies& latencies() const { return latencies_; }

  // True for each class of work whose clients feel the limit: on average over some seconds, at least 0.1 operations
  // were waiting at its gate. A second in which operations were refused counts as one more waiting operation. If a gate
  // makes single operations wait for milliseconds only, no client feels that.
  struct Felt {
    bool write = false;
    bool bulk = false;
    bool read = false;
  };
  Felt felt() const;

 private:
  // Counters and flags at one moment. Rates and marks are differences of two such Counts.
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
  Waiters waiters_;               // mean numbers of waiting operations; a second with refusals counts as one more
  std::optional<Counts> before_;  // counts at the previous Take; nullopt before the first
  TimePoint before_at_{};
};

}  // namespace weir
