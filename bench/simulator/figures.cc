#include "bench/simulator/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/measure/jain_index.h"
#include "bench/measure/settled_limit.h"

namespace weir {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kSettledBand = 0.10;       // share of the setpoint
constexpr double kSmoothing = 1.0 / 4;      // share of the integral time
constexpr double kSteadyIntegralTimes = 2;  // at the end of the judged time

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return kNone;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::min(sorted.size() - 1, rank == 0 ? 0 : rank - 1)];
}

// Returns the mean of the levels within `span_s` before each row; the span is shorter if the judged time has just
// begun.
std::vector<double> MovingMean(const std::vector<const TickRow*>& rows, double span_s) {
  std::vector<double> means;
  double sum = 0;
  size_t oldest = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i]->level;
    while (oldest < i && rows[oldest]->time_s <= rows[i]->time_s - span_s) sum -= rows[oldest++]->level;
    means.push_back(sum / static_cast<double>(i - oldest + 1));
  }
  return means;
}

}  // namespace

void JudgeLevel(const std::vector<TickRow>& rows, const Judged& judged, Figures* figures) {
  std::vector<const TickRow*> seen;
  for (const TickRow& row : rows)
    if (row.time_s > judged.from_s && row.time_s <= judged.until_s) seen.push_back(&row);
  figures->integral_seconds = judged.integral_s;
  figures->settling_seconds = figures->steady_error = kNone;
  std::vector<LimitAt> limits;
  for (const TickRow* row : seen)
    limits.push_back({row->time_s, row->open ? std::numeric_limits<double>::infinity() : row->limit});
  const SettledLimit limit = JudgeLimit(limits);
  figures->limit_spread_percent = limit.spread_percent;
  figures->limit_within_percent = limit.within_percent;
  figures->limit_settled_seconds = limit.seconds;
  if (seen.empty()) return;

  const double setpoint = figures->setpoint = seen.back()->setpoint;
  double highest = 0;
  double sum = 0;
  double count = 0;
  for (const TickRow* row : seen) {
    highest = std::max(highest, row->level);
    if (row->time_s <= judged.until_s - kSteadyIntegralTimes * judged.integral_s) continue;
    sum += row->level;
    count += 1;
  }
  figures->highest_level = highest;
  figures->overshoot_percent = 100 * std::max(0.0, highest / setpoint - 1);
  figures->steady_error = sum / count - setpoint;

  const std::vector<double> means = MovingMean(seen, kSmoothing * judged.integral_s);
  size_t settled = means.size();
  while (settled > 0 && std::abs(means[settled - 1] / setpoint - 1) <= kSettledBand) --settled;
  if (settled < means.size()) figures->settling_seconds = seen[settled]->time_s - judged.from_s;
}

void JudgeLoad(LoadTally tally, double seconds, Figures* figures) {
  std::sort(tally.interactive_ms.begin(), tally.interactive_ms.end());
  figures->interactive_p50_ms = Quantile(tally.interactive_ms, 0.5);
  figures->interactive_p99_ms = Quantile(tally.interactive_ms, 0.99);
  figures->interactive_p999_ms = Quantile(tally.interactive_ms, 0.999);
  figures->interactive_max_ms = Quantile(tally.interactive_ms, 1);
  figures->bulk_bytes_per_second = tally.bulk_bytes / seconds;
  figures->aggregate_bytes_per_second = (tally.bulk_bytes + tally.interactive_bytes) / seconds;
  figures->bulk_refused = static_cast<double>(tally.bulk_refused);
  figures->interactive_refused = static_cast<double>(tally.interactive_refused);
  figures->jain_index = JainIndex(tally.bulk_bytes_by_party);
}

std::vector<std::pair<std::string, double>> Named(const Figures& f) {
  return {{"setpoint", f.setpoint},
          {"integral_seconds", f.integral_seconds},
          {"overshoot_percent", f.overshoot_percent},
          {"settling_seconds", f.settling_seconds},
          {"steady_error", f.steady_error},
          {"highest_level", f.highest_level},
          {"limit_spread_percent", f.limit_spread_percent},
          {"limit_within_percent", f.limit_within_percent},
          {"limit_settled_seconds", f.limit_settled_seconds},
          {"brake_delay_seconds", f.brake_delay_seconds},
          {"aggregate_bytes_per_second", f.aggregate_bytes_per_second},
          {"bulk_bytes_per_second", f.bulk_bytes_per_second},
          {"interactive_p50_ms", f.interactive_p50_ms},
          {"interactive_p99_ms", f.interactive_p99_ms},
          {"interactive_p999_ms", f.interactive_p999_ms},
          {"interactive_max_ms", f.interactive_max_ms},
          {"interactive_refused", f.interactive_refused},
          {"bulk_refused", f.bulk_refused},
          {"stalled_seconds", f.stalled_seconds},
          {"escapes", f.escapes},
          {"jain_index", f.jain_index}};
}

}  // namespace weir
