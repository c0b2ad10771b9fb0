// Judges how steady a limit is once it has settled.
#pragma once

#include <vector>

namespace weir {

// The limit at a moment, in any unit; infinite while there is none.
struct LimitAt {
  double second = 0;
  double limit = 0;
};

// All figures are about the final median, the median of the last third of the trace; NaN if the trace is empty or
// there was no limit in most of that third.
struct SettledLimit {
  // The largest deviation from the final median in the last third, in percent of it. A moment without a limit counts as
  // 100 %.
  double spread_percent = 0;
  // The share of the last third within 20 % of the final median, in percent.
  double within_percent = 0;
  // The seconds from the begin of the trace until the limit stays within 20 % of the final median; NaN if it still
  // leaves this range in the last third.
  double seconds = 0;
};

// `trace` is in the order of time.
SettledLimit JudgeLimit(const std::vector<LimitAt>& trace);

}  // namespace weir
