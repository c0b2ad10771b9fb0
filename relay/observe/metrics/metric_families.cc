#include "relay/observe/metrics/metric_families.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

prometheus::ClientMetric::Histogram HistogramOf(const LatencySnapshot& snapshot) {
  prometheus::ClientMetric::Histogram histogram;
  for (size_t i = 0; i < kLatencyBuckets; ++i) {
    const double bound = i < kLatencyBounds.size() ? kLatencyBounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({.cumulative_count = snapshot.cumulative[i], .upper_bound = bound});
  }
  histogram.sample_count = snapshot.count();
  histogram.sample_sum = static_cast<double>(snapshot.sum.count()) * 1e-9;
  return histogram;
}

}  // namespace

double Quantile(const prometheus::ClientMetric::Histogram& histogram, double share) {
  LatencySnapshot snapshot;
  const size_t buckets = std::min(histogram.bucket.size(), kLatencyBuckets);
  for (size_t i = 0; i < buckets; ++i) snapshot.cumulative[i] = histogram.bucket[i].cumulative_count;
  return Quantile(snapshot, share);
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

MetricFamilies& MetricFamilies::Add(const LatencySnapshot& histogram, Labels labels) {
  Member(labels).histogram = HistogramOf(histogram);
  return *this;
}

std::vector<prometheus::MetricFamily> MetricFamilies::Take() && {
  std::erase_if(families_, [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  return std::move(families_);
}

}  // namespace weir
