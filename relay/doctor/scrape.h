// Scrape: reads the metrics of a relay or gate from the text of /metrics, which has the text format of Prometheus. The
// text has one sample on each line; a histogram consists of the samples _count, _sum and _bucket.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class Scrape {
 public:
  Scrape() = default;
  // Reads the text of /metrics. Skips comments, and all lines that are not a sample with a finite figure.
  explicit Scrape(std::string_view text);

  // Returns the figure of a sample; nullopt if the sample does not exist. `sample` is its name with all labels, exactly
  // as in the text: `weir_throttle_level{class="bulk"}`.
  std::optional<double> Find(std::string_view sample) const;
  // Does the same, but returns 0 if the sample does not exist.
  double Get(std::string_view sample) const { return Find(sample).value_or(0); }
  // Returns the sum of all samples with this name and the pair `label` of a label and its value, such as
  // `operation="write"`. If `label` is empty, adds up all samples with this name.
  double Sum(std::string_view name, std::string_view label = "") const;
  // Looks for the first sample, in alphabetical order, that has this name, a label named `label`, the pair `with` (such
  // as `class="bulk"`; empty: any) and a figure above 0. Returns the value of that label, or an empty text if there is
  // no such sample.
  std::string Label(std::string_view name, std::string_view label, std::string_view with = "") const;

  bool empty() const { return samples_.empty(); }

 private:
  std::map<std::string, double, std::less<>> samples_;
};

}  // namespace weir
