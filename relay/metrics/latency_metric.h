// LatencyMetric: a histogram that many threads write. Its header is light, so that code which observes
// does not pay for code which shows; metric_families.h makes a Prometheus histogram of it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "config/clock.h"

namespace weir {

// These are upper bounds in seconds, from a live delivery (tens of microseconds) to the longest wait for an OK.
inline constexpr std::array kLatencyBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};
// The last bucket has no bound.
inline constexpr size_t kLatencyBuckets = kLatencyBounds.size() + 1;

// The observations of a LatencyMetric up to one moment.
struct LatencySnapshot {
  uint64_t count() const { return cumulative.back(); }

  std::array<uint64_t, kLatencyBuckets> cumulative{};  // each bucket includes those before it
  Duration sum{};
};

// Returns the latency below which `share` of the observations lie, interpolated within its bucket; 0 if there are no
// observations, the last bound if the latency is higher.
double Quantile(const LatencySnapshot& snapshot, double share);

// An observation costs two relaxed additions; prometheus-cpp's own histogram takes a lock.
class LatencyMetric {
 public:
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
