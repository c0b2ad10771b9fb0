#include "relay/metrics/metric_families.h"

#include <limits>

namespace weir {

prometheus::ClientMetric::Histogram LatencyMetric::Snapshot() const {
  prometheus::ClientMetric::Histogram histogram;
  for (size_t i = 0; i < counts_.size(); ++i) {
    histogram.sample_count += counts_[i].load(std::memory_order_relaxed);
    const double bound = i < kLatencyBounds.size() ? kLatencyBounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({.cumulative_count = histogram.sample_count, .upper_bound = bound});
  }
  histogram.sample_sum = static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) * 1e-9;
  return histogram;
}

double Quantile(const prometheus::ClientMetric::Histogram& histogram, double share) {
  if (histogram.sample_count == 0) return 0;
  const double rank = share * static_cast<double>(histogram.sample_count);
  double lower = 0;
  double below = 0;
  for (const auto& bucket : histogram.bucket) {
    if (bucket.upper_bound > kLatencyBounds.back()) break;
    const auto up_to = static_cast<double>(bucket.cumulative_count);
    if (up_to >= rank && up_to > below) {
      return lower + (bucket.upper_bound - lower) * (rank - below) / (up_to - below);
    }
    lower = bucket.upper_bound;
    below = up_to;
  }
  return kLatencyBounds.back();
}

MetricFamilies& MetricFamilies::Begin(prometheus::MetricType type, std::string name, std::string help) {
  families_.push_back({.name = std::move(name), .help = std::move(help), .type = type, .metric = {}});
  return *this;
}

MetricFamilies& MetricFamilies::Counter(std::string name, std::string help) {
  return Begin(prometheus::MetricType::Counter, std::move(name), std::move(help));
}

MetricFamilies& MetricFamilies::Gauge(std::string name, std::string help) {
  return Begin(prometheus::MetricType::Gauge, std::move(name), std::move(help));
}

MetricFamilies& MetricFamilies::Histogram(std::string name, std::string help) {
  return Begin(prometheus::MetricType::Histogram, std::move(name), std::move(help));
}

prometheus::ClientMetric& MetricFamilies::Member(Labels labels) {
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  for (const auto& [name, value] : labels)
    metric.label.push_back({.name = std::string(name), .value = std::string(value)});
  return metric;
}

MetricFamilies& MetricFamilies::Add(double value, Labels labels) {
  const bool counter = families_.back().type == prometheus::MetricType::Counter;
  prometheus::ClientMetric& metric = Member(labels);
  (counter ? metric.counter.value : metric.gauge.value) = value;
  return *this;
}

MetricFamilies& MetricFamilies::Add(const LatencyMetric& histogram, Labels labels) {
  Member(labels).histogram = histogram.Snapshot();
  return *this;
}

std::vector<prometheus::MetricFamily> MetricFamilies::Take() && {
  std::erase_if(families_, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  return std::move(families_);
}

}  // namespace weir
