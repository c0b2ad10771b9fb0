// RecentLatencies: what was observed over the last ten seconds, from histograms that only grow.
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

  // Once a second.
  void Add(const RelayCounters::Latencies& so_far);
  // Since the oldest that it remembers.
  RelayCounters::Latencies Recent() const;
  // How long that is.
  size_t seconds() const { return seen_.empty() ? 0 : seen_.size() - 1; }

 private:
  std::deque<RelayCounters::Latencies> seen_;  // kSeconds + 1 at most
};

}  // namespace weir
