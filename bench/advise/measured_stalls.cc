#include "bench/advise/measured_stalls.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// RocksDB opens the database and then writes the first line.
constexpr double kOpensBeforeSeconds = 2;

// Returns false for the figures of a damaged line, which may be infinite or no numbers.
bool IsPossible(const DbStatsText& stats) {
  constexpr double kMostSeconds = 1e10, kMostBytes = 1e24;
  const auto within = [](double figure, double most) { return figure >= 0 && figure <= most; };
  return stats.uptime_seconds > 0 && within(stats.uptime_seconds, kMostSeconds) &&
         within(stats.stalled_seconds, kMostSeconds) && within(stats.user_bytes, kMostBytes);
}

}  // namespace

bool MeasuredStalls::Add(LogTime at, const DbStatsText& stats) {
  if (!IsPossible(stats)) return false;
  const bool new_run = count_++ == 0 || reopened_ || stats.uptime_seconds < last_.uptime_seconds;
  const bool begins_here = stats.uptime_seconds <= LogSeconds(at - begin_) + kOpensBeforeSeconds;
  const DbStatsText before = std::exchange(last_, stats);
  reopened_ = false;
  if (new_run && !begins_here) return false;
  const DbStatsText since = new_run ? DbStatsText{} : before;
  const double seconds = stats.uptime_seconds - since.uptime_seconds;
  covered_ += seconds;
  // RocksDB adds the times of threads; more than one stalls at once only with unusual options.
  seconds_ += std::clamp(stats.stalled_seconds - since.stalled_seconds, 0.0, seconds);
  user_bytes_ += std::max(0.0, stats.user_bytes - since.user_bytes);
  return true;
}

}  // namespace weir
