#include "relay/live/recent_latencies.h"

#include <utility>

namespace weir {
namespace {

using Histogram = prometheus::ClientMetric::Histogram;

Histogram Since(const Histogram& earlier, Histogram now) {
  now.sample_count -= earlier.sample_count;
  now.sample_sum -= earlier.sample_sum;
  for (size_t i = 0; i < now.bucket.size(); ++i) now.bucket[i].cumulative_count -= earlier.bucket[i].cumulative_count;
  return now;
}

}  // namespace

void RecentLatencies::Add(RelayMetrics::Latencies so_far) {
  seen_.push_back(std::move(so_far));
  if (seen_.size() > kSeconds + 1) seen_.pop_front();
}

RelayMetrics::Latencies RecentLatencies::Recent() const {
  if (seen_.empty()) return {};
  const RelayMetrics::Latencies& earlier = seen_.front();
  const RelayMetrics::Latencies& now = seen_.back();
  return {.event_to_ok = Since(earlier.event_to_ok, now.event_to_ok),
          .req_to_eose = Since(earlier.req_to_eose, now.req_to_eose),
          .live_delivery = Since(earlier.live_delivery, now.live_delivery),
          .write_gate_wait = Since(earlier.write_gate_wait, now.write_gate_wait),
          .read_gate_wait = Since(earlier.read_gate_wait, now.read_gate_wait)};
}

}  // namespace weir
