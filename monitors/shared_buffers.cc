#include "monitors/shared_buffers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// Shares of the limit: weir starts a flush at the first, up to which the level is 0, and the engine at the second. With
// the first, bulk work does 6.0 MB/s in the storm's shape `wbmstall` (median of three), and the memtables have at most
// 0.93 of the limit. When flushes began at the second, each was at once above the setpoint: 3.5 MB/s (one run).
constexpr double kNoBacklog = 3.0 / 4;
constexpr double kEngineFlushes = 7.0 / 8;
constexpr double kLeastOwnShare = 1.0 / 8;

// The level falls to 37 % within this time, which spans several flushes.
constexpr double kHoldSeconds = 2;

// The signal is at most this much above the level that a sample finds, so that one large batch looks like no stop.
constexpr double kMostAhead = 0.5;

// Multiples of the dead time must not overflow, whatever limit the manager has.
constexpr double kLongestFlushSeconds = 3600;

// The throttle acts on a sample before the next one, which shows the effect.
constexpr double kSamplesUntilActed = 2;

double ShareOf(double bytes, uint64_t limit_bytes) {
  return bytes / static_cast<double>(std::max<uint64_t>(1, limit_bytes));
}

}  // namespace

double SharedBuffers::room_bytes() const {
  return (1 - (flushes_early ? kNoBacklog : kEngineFlushes)) * static_cast<double>(limit_bytes);
}

double SharedBuffers::Level(double coming_bytes) const {
  const bool is_full = stopped || used_bytes >= limit_bytes;
  if (!is_full && used_bytes <= filling_bytes) return 0;
  const double used = ShareOf(static_cast<double>(used_bytes) + coming_bytes, limit_bytes);
  return std::max(is_full ? 1.0 : 0.0, (used - kNoBacklog) / (1 - kNoBacklog));
}

bool SharedBuffers::IsFlushDue(double coming_bytes) const {
  return flushes_early && ShareOf(static_cast<double>(filling_bytes) + coming_bytes, limit_bytes) >= kNoBacklog &&
         ShareOf(static_cast<double>(own_bytes), limit_bytes) >= kLeastOwnShare;
}

Signal SharedBuffersSignal::Update(TimePoint now, const SharedBuffers& buffers, double flush_bytes_per_second,
                                   Duration sample_interval) {
  const double passed_s = last_time_ ? std::max(0.0, ToSeconds(now - *last_time_)) : 0;
  last_time_ = now;
  const uint64_t last_used_bytes = std::exchange(last_used_bytes_, buffers.used_bytes);
  // If a flush has ended meanwhile, what came in is not known.
  if (passed_s > 0 && buffers.used_bytes >= last_used_bytes)
    inflow_bytes_per_second_.Update(now, static_cast<double>(buffers.used_bytes - last_used_bytes) / passed_s);
  const double interval_s = ToSeconds(sample_interval);
  const double span = std::max(1.0, (1 - kNoBacklog) * static_cast<double>(buffers.limit_bytes));
  const double coming = std::min(kMostAhead * span, inflow_bytes_per_second_.value() * interval_s);
  flush_due_ = buffers.IsFlushDue(coming);
  // A stop that has ended must not look like one that lasts.
  held_ = std::max(buffers.Level(coming), std::min(1.0, held_) * std::exp(-passed_s / kHoldSeconds));

  const double flush_s = static_cast<double>(buffers.largest_bytes) / std::max(1.0, flush_bytes_per_second);
  const double drain =
      std::min(flush_bytes_per_second, buffers.room_bytes() / (kSamplesUntilActed * interval_s + flush_s));
  return {.name = "buffers",
          .level = held_,
          .bytes_per_level = span,
          .dead_time = FromSeconds(std::min(kLongestFlushSeconds, span / std::max(1.0, drain))) + sample_interval,
          .drain_bytes_per_second = drain,
          .shows_inflow_at_once = true,
          .relieved_by_flush = true};
}

}  // namespace weir
