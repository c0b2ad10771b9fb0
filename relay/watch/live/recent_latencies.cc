#include "relay/watch/live/recent_latencies.h"

#include "relay/observe/metrics/latency_metric.h"

namespace weir {
namespace {

LatencySnapshot Since(const LatencySnapshot& earlier, LatencySnapshot now) {
  for (size_t i = 0; i < kLatencyBuckets; ++i) now.cumulative[i] -= earlier.cumulative[i];
  now.sum -= earlier.sum;
  return now;
}

}  // namespace

void RecentLatencies::Add(const RelayCounters::Latencies& so_far) {
  seen_.push_back(so_far);
  if (seen_.size() > kSeconds + 1) seen_.pop_front();
}

RelayCounters::Latencies RecentLatencies::Recent() const {
  if (seen_.empty()) return {};
  const RelayCounters::Latencies& earlier = seen_.front();
  const RelayCounters::Latencies& now = seen_.back();
  return {.event_to_ok = Since(earlier.event_to_ok, now.event_to_ok),
          .req_to_eose = Since(earlier.req_to_eose, now.req_to_eose),
          .live_delivery = Since(earlier.live_delivery, now.live_delivery),
          .write_gate_wait = Since(earlier.write_gate_wait, now.write_gate_wait),
          .read_gate_wait = Since(earlier.read_gate_wait, now.read_gate_wait)};
}

}  // namespace weir
