// Sampler: makes the rows of the live history from the relay's counters. The LiveFeed's thread calls Take each second,
// even while there are no listeners; a call takes about 30 µs.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "config/clock.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/watch/live/live_feed.h"

namespace weir {

// Computes the latencies of the last ten seconds from histograms that count since the relay's start.
class RecentLatencies {
 public:
  static constexpr size_t kSeconds = 10;

  // Adds a copy of the histograms as they are now. Call it once a second.
  void Add(const RelayCounters::Latencies& so_far);
  // Returns the latencies that were observed in the last seconds() seconds before the newest Add; none before the
  // second Add.
  RelayCounters::Latencies Recent() const;
  // Returns the number of seconds that Recent covers, from 0 to kSeconds.
  size_t seconds() const { return seen_.empty() ? 0 : seen_.size() - 1; }

 private:
  std::deque<RelayCounters::Latencies> seen_;  // the newest arguments of Add, at most kSeconds + 1; the oldest first
};

class Sampler {
 public:
  // The clocks must outlive this object.
  explicit Sampler(const Clock& clock = Clock::System(), const WallClock& wall_clock = WallClock::System())
      : clock_(clock), wall_clock_(wall_clock) {}

  // Returns a row with the present figures, and a mark for each event since the previous call: an emergency began or
  // ended, the engine could no longer be measured or could be measured again, or the engine braked by itself. The first
  // row has no rates, because a rate compares two calls. Before the relay has started and after it has stopped, a row
  // has only its time.
  LiveFeed::Sample Take(const RelayMetrics& metrics);
  // Returns the latencies of the last ten seconds.
  const RecentLatencies& latencies() const { return latencies_; }

  // Says for each class of work whether its clients notice that the throttle limits them. They do if at least 0.1
  // operations waited at the gate of the class, averaged over about three seconds. A second in which the gate refused
  // operations counts as one more waiting operation. A gate that makes single operations wait for milliseconds stays
  // below 0.1.
  struct Felt {
    bool write = false;
    bool bulk = false;
    bool read = false;
  };
  Felt felt() const;

 private:
  // The relay's counters and flags at one moment. Rates and marks come from the differences of two Counts.
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
  Waiters waiters_;               // the averages that Felt compares with 0.1
  std::optional<Counts> before_;  // counts at the previous Take; nullopt before the first
  TimePoint before_at_{};
};

}  // namespace weir
