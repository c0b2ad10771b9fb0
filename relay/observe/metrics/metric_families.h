// MetricFamilies: builds the metric families of Prometheus, one family after the other. A family has all metrics of one
// name, which differ in the values of their labels.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/observe/metrics/latency_metric.h"

namespace weir {

// Does the same as Quantile in latency_metric.h, for a histogram that MetricFamilies has made.
double Quantile(const prometheus::ClientMetric::Histogram& histogram, double share);

// Counter, Gauge and Histogram begin a family. Each Add then adds a metric to the newest family: for a counter or gauge
// a number, for a histogram a LatencySnapshot or LatencyMetric.
class MetricFamilies {
 public:
  // The names and values of labels. The strings need to live only during the call.
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  MetricFamilies& Counter(std::string name, std::string help);
  MetricFamilies& Gauge(std::string name, std::string help);
  MetricFamilies& Histogram(std::string name, std::string help);

  MetricFamilies& Add(double value, Labels labels = {});
  MetricFamilies& Add(uint64_t value, Labels labels = {}) { return Add(static_cast<double>(value), labels); }
  MetricFamilies& Add(const LatencySnapshot& histogram, Labels labels = {});
  MetricFamilies& Add(const LatencyMetric& histogram, Labels labels = {}) { return Add(histogram.Snapshot(), labels); }

  // Returns the families that have at least one metric, and leaves this object empty.
  std::vector<prometheus::MetricFamily> Take() &&;

 private:
  MetricFamilies& Begin(prometheus::MetricType type, std::string name, std::string help);
  prometheus::ClientMetric& Member(Labels labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace weir
