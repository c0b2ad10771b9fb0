#include "relay/observe/metrics/latency_metric.h"

namespace weir {

double Quantile(const LatencySnapshot& snapshot, double share) {
  if (snapshot.count() == 0) return 0;
  const double rank = share * static_cast<double>(snapshot.count());
  double lower = 0;
  double below = 0;
  for (size_t i = 0; i < kLatencyBounds.size(); ++i) {
    const auto up_to = static_cast<double>(snapshot.cumulative[i]);
    if (up_to >= rank && up_to > below) {
      return lower + (kLatencyBounds[i] - lower) * (rank - below) / (up_to - below);
    }
    lower = kLatencyBounds[i];
    below = up_to;
  }
  return kLatencyBounds.back();
}

LatencySnapshot LatencyMetric::Snapshot() const {
  LatencySnapshot snapshot;
  uint64_t count = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    count += counts_[i].load(std::memory_order_relaxed);
    snapshot.cumulative[i] = count;
  }
  snapshot.sum = Duration(sum_ns_.load(std::memory_order_relaxed));
  return snapshot;
}

}  // namespace weir
