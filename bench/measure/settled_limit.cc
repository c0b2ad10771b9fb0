#include "bench/measure/settled_limit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace weir {
namespace {

constexpr double kSettledPercent = 20;

}  // namespace

SettledLimit JudgeLimit(const std::vector<LimitAt>& trace) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  SettledLimit judged{.spread_percent = kNone, .within_percent = kNone, .seconds = kNone};
  std::vector<double> last;
  const size_t last_third = trace.size() - (trace.size() + 2) / 3;
  for (size_t i = last_third; i < trace.size(); ++i) last.push_back(trace[i].limit);
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end());
  if (last.empty() || !std::isfinite(*middle) || *middle <= 0) return judged;

  const auto deviation = [median = *middle](const LimitAt& at) {
    return std::isfinite(at.limit) ? 100 * std::abs(at.limit / median - 1) : 100;
  };
  judged.spread_percent = 0;
  size_t within = 0;
  for (size_t i = last_third; i < trace.size(); ++i) {
    const double percent = deviation(trace[i]);
    judged.spread_percent = std::max(judged.spread_percent, percent);
    if (percent <= kSettledPercent) ++within;
  }
  judged.within_percent = 100.0 * static_cast<double>(within) / static_cast<double>(last.size());
  size_t settled = trace.size();
  while (settled > 0 && deviation(trace[settled - 1]) <= kSettledPercent) --settled;
  if (settled <= last_third) judged.seconds = trace[settled].second - trace.front().second;
  return judged;
}

}  // namespace weir
