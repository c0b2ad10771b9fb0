#include "bench/measure/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace weir {

void LatencyHistogram::Record(Duration latency) {
  const auto ns = static_cast<uint64_t>(std::max<int64_t>(0, latency.count()));
  buckets_[BucketOf(ns / 1000)].fetch_add(1, std::memory_order_relaxed);
  uint64_t max = max_ns_.load(std::memory_order_relaxed);
  while (ns > max && !max_ns_.compare_exchange_weak(max, ns, std::memory_order_relaxed)) {
  }
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i)
    buckets_[i].fetch_add(other.buckets_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  max_ns_.store(std::max(max_ns_.load(), other.max_ns_.load()));
}

void LatencyHistogram::Clear() {
  for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  max_ns_.store(0);
}

uint64_t LatencyHistogram::count() const {
  uint64_t count = 0;
  for (const auto& bucket : buckets_) count += bucket.load(std::memory_order_relaxed);
  return count;
}

Duration LatencyHistogram::max() const { return Duration(static_cast<int64_t>(max_ns_.load())); }

Duration LatencyHistogram::Quantile(double share) const {
  const uint64_t total = count();
  if (total == 0) return {};
  const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(total)));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i].load(std::memory_order_relaxed);
    if (seen >= std::max<uint64_t>(rank, 1)) return std::min(max(), Duration(std::chrono::microseconds(UpperEdge(i))));
  }
  return max();
}

// The first two powers share the first 128 buckets, one microsecond each; from there on 64 steps to each power of two.
size_t LatencyHistogram::BucketOf(uint64_t microseconds) {
  const int power = std::max(0, static_cast<int>(std::bit_width(microseconds)) - (kStepBits + 1));
  const size_t bucket = (static_cast<size_t>(power) << kStepBits) + (microseconds >> power);
  return std::min(bucket, kBuckets - 1);
}

uint64_t LatencyHistogram::UpperEdge(size_t bucket) {
  const size_t power = bucket < (2u << kStepBits) ? 0 : (bucket >> kStepBits) - 1;
  return ((bucket - (power << kStepBits)) + 1) << power;
}

}  // namespace weir
