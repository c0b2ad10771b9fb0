// RecentLatencies: the latencies of the last ten seconds, from histograms that only grow.
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

  // Call it once a second.
  void Add(const RelayCounters::Latencies& so_far);
  // Returns the latencies since the oldest state that it remembers.
  RelayCounters::Latencies Recent() const;
  // The seconds that Recent covers.
  size_t seconds() const { return seen_.empty() ? 0 : seen_.size() - 1; }

 private:
  std::deque<RelayCounters::Latencies> seen_;  // kSeconds + 1 at most
};

}  // namespace weir
