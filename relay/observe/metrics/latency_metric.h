// LatencyMetric: a histogram of latencies to which many threads can add at once. This header includes few others,
// because many sources include it. MetricFamilies (metric_families.h) turns a LatencyMetric into a histogram of
// Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "config/clock.h"

namespace weir {

// The upper bounds of the buckets, in seconds. Each bound belongs to its bucket. The bounds reach from a live delivery
// (tens of microseconds) to the longest wait for an OK.
inline constexpr std::array kLatencyBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};
// The number of buckets. The last one has no upper bound.
inline constexpr size_t kLatencyBuckets = kLatencyBounds.size() + 1;

// The observations of a LatencyMetric up to one moment. An observation that a thread adds during Snapshot may be
// included only in `sum`, or only in `cumulative`.
struct LatencySnapshot {
  uint64_t count() const { return cumulative.back(); }

  std::array<uint64_t, kLatencyBuckets> cumulative{};  // the count of each bucket includes the buckets before it
  Duration sum{};
};

// Returns the latency in seconds below which `share` (0..1) of the observations lie, interpolated within its bucket.
// Returns 0 if there are no observations, and the last bound if the latency is higher than that.
double Quantile(const LatencySnapshot& snapshot, double share);

// Thread-safe. An observation costs two relaxed atomic additions; prometheus-cpp's own histogram locks a mutex.
class LatencyMetric {
 public:
  // Adds an observation. A negative latency counts as 0.
  void Observe(Duration latency) {
    const int64_t ns = latency.count() < 0 ? 0 : latency.count();
    const double seconds = static_cast<double>(ns) * 1e-9;
    size_t bucket = 0;
    while (bucket < kLatencyBounds.size() && seconds > kLatencyBounds[bucket]) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }

  LatencySnapshot Snapshot() const;

 private:
  std::array<std::atomic<uint64_t>, kLatencyBuckets> counts_{};
  std::atomic<int64_t> sum_ns_{0};
};

}  // namespace weir
