// RecentLatencies: computes the latencies of the last ten seconds from histograms that count since the relay's start.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>

#include "relay/observe/relay/relay_counters.h"

namespace weir {

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

}  // namespace weir
