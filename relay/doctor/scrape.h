// Scrape: what an instance says at /metrics, as Prometheus reads it. Histograms are their _count, _sum and _bucket.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class Scrape {
 public:
  Scrape() = default;
  // What is no line of a sample is passed over.
  explicit Scrape(std::string_view text);

  // Of the sample of this name with all of its labels as they stand: `weir_throttle_level{class="bulk"}`.
  std::optional<double> Find(std::string_view sample) const;
  double Get(std::string_view sample) const { return Find(sample).value_or(0); }
  // Of all samples of a name, whatever their labels, that have these among them: `operation="write"`.
  double Sum(std::string_view name, std::string_view label = "") const;
  // Of the label in the first sample of a name, and with this label, whose value is above 0; empty: there is none.
  std::string Label(std::string_view name, std::string_view label, std::string_view with = "") const;

  bool empty() const { return samples_.empty(); }

 private:
  std::map<std::string, double, std::less<>> samples_;
};

}  // namespace weir
