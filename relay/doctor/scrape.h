// Scrape: the samples that a relay or gate shows at /metrics, in the text format of Prometheus. A histogram appears as
// its samples _count, _sum and _bucket.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class Scrape {
 public:
  Scrape() = default;
  // Reads the text of /metrics. Skips comments, and lines that are no sample with a finite value.
  explicit Scrape(std::string_view text);

  // Returns the value of a sample; nullopt if there is none. `sample` is its name with all labels, as they are written
  // at /metrics: `weir_throttle_level{class="bulk"}`.
  std::optional<double> Find(std::string_view sample) const;
  // Does the same, but returns 0 if there is none.
  double Get(std::string_view sample) const { return Find(sample).value_or(0); }
  // Returns the sum of all samples of this name that have `label` among their labels, such as `operation="write"`. If
  // `label` is empty, all samples of the name count.
  double Sum(std::string_view name, std::string_view label = "") const;
  // Returns the value of `label` in the first sample of `name` that has this label, has `with` among its labels, and
  // has a value above 0. Returns an empty text if there is none.
  std::string Label(std::string_view name, std::string_view label, std::string_view with = "") const;

  bool empty() const { return samples_.empty(); }

 private:
  std::map<std::string, double, std::less<>> samples_;
};

}  // namespace weir
