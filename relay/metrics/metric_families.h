// How figures become Prometheus families: a list that is filled family by family, and a histogram that many threads
// write.
#pragma once

#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

// Seconds, upper bounds. From a live delivery (tens of microseconds) to the longest wait for an OK.
inline constexpr std::array kLatencyBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                              0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};

// Two relaxed additions an observation; prometheus-cpp's own takes a lock.
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

  prometheus::ClientMetric::Histogram Snapshot() const;

 private:
  std::array<std::atomic<uint64_t>, kLatencyBounds.size() + 1> counts_{};
  std::atomic<int64_t> sum_ns_{0};
};

// The latency below which the share of a histogram lies, within its bucket by proportion; 0 where it is empty, the last
// bound where it lies beyond.
double Quantile(const prometheus::ClientMetric::Histogram& histogram, double share);

// A counter or gauge begins a family; every Add after it is a member of that family.
class MetricFamilies {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  MetricFamilies& Counter(std::string name, std::string help);
  MetricFamilies& Gauge(std::string name, std::string help);
  MetricFamilies& Histogram(std::string name, std::string help);

  MetricFamilies& Add(double value, Labels labels = {});
  MetricFamilies& Add(uint64_t value, Labels labels = {}) { return Add(static_cast<double>(value), labels); }
  MetricFamilies& Add(const LatencyMetric& histogram, Labels labels = {});

  // Those that have members.
  std::vector<prometheus::MetricFamily> Take() &&;

 private:
  MetricFamilies& Begin(prometheus::MetricType type, std::string name, std::string help);
  prometheus::ClientMetric& Member(Labels labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace weir
