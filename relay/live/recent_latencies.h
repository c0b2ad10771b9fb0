// RecentLatencies: the latencies of the last ten seconds, computed from histograms that only grow.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>

#include "relay/metrics/relay_counters.h"

namespace weir {

class RecentLatencies {
 public:
  static constexpr size_t kSeconds = 10;

  // Adds the histograms as they are now. Call it once a second.
  void Add(const RelayCounters::Latencies& so_far);
  // Returns the latencies from the time between the oldest Add that is kept and the newest; none before the second Add.
  RelayCounters::Latencies Recent() const;
  // Returns the number of seconds that Recent covers, from 0 to kSeconds.
  size_t seconds() const { return seen_.empty() ? 0 : seen_.size() - 1; }

 private:
  std::deque<RelayCounters::Latencies> seen_;  // kSeconds + 1 at most
};

}  // namespace weir
