// LatencyHistogram: counts latencies from a microsecond to days, in fixed memory. From 64 µs on, each power of two has
// 64 equal steps, so the error of a percentile is below 1.6 %; below that a step is a microsecond. Many threads may
// record while one thread reads.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "config/clock.h"

namespace weir {

// Converts a latency to milliseconds, the unit in which latencies are printed.
inline double Milliseconds(Duration d) { return ToSeconds(d) * 1e3; }

class LatencyHistogram {
 public:
  void Record(Duration latency);

  // Adds the counts of `other`.
  void Merge(const LatencyHistogram& other);
  void Clear();

  uint64_t count() const;
  Duration max() const;
  // Returns the latency that this share of all latencies (0 ≤ share ≤ 1) did not exceed; zero if there are none.
  Duration Quantile(double share) const;

 private:
  static constexpr int kStepBits = 6;
  static constexpr int kPowers = 40;  // powers of two of a microsecond
  static constexpr size_t kBuckets = static_cast<size_t>(kPowers) << kStepBits;

  static size_t BucketOf(uint64_t microseconds);
  static uint64_t UpperEdge(size_t bucket);

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> max_ns_{0};
};

}  // namespace weir
