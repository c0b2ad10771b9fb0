// Scrape: the samples that an instance shows at /metrics, read as Prometheus does. A histogram is its samples _count,
// _sum and _bucket.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class Scrape {
 public:
  Scrape() = default;
  // Skips lines that are no sample.
  explicit Scrape(std::string_view text);

  // Returns the value of the sample of this name, with all of its labels as they are written:
  // `weir_throttle_level{class="bulk"}`.
  std::optional<double> Find(std::string_view sample) const;
  double Get(std::string_view sample) const { return Find(sample).value_or(0); }
  // Returns the sum of all samples of a name that have `label` among their labels: `operation="write"`.
  double Sum(std::string_view name, std::string_view label = "") const;
  // Returns the value of `label` in the first sample of `name` that has the label `with` and a value above 0; empty if
  // there is none.
  std::string Label(std::string_view name, std::string_view label, std::string_view with = "") const;

  bool empty() const { return samples_.empty(); }

 private:
  std::map<std::string, double, std::less<>> samples_;
};

}  // namespace weir
