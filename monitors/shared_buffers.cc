#include "monitors/shared_buffers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// The share of the limit up to which the level is 0; RocksDB flushes at seven eighths.
constexpr double kNoBacklog = 3.0 / 4;

// The level falls to 37 % within this time, which spans several flushes. Without it, the limit jumped between 5 and 20
// MB/s, and writers stood for 22 % of the time instead of 10 (12 MiB, eight families, 11 MB/s).
constexpr double kHoldSeconds = 2;

// A flush is about as short as the time between two samples, so the room may be gone before the next one. The signal is
// therefore the level that the next sample would find at the drain, but at most this much higher. In the case above,
// writers stood for 4.5, 2.0 and 0.0 % of the time with 0.2, 0.35 and 0.5, their p99.9 was 135, 102 and 11 ms, and bulk
// work did 8.5, 8.0 and 6.0 MB/s. RocksDB alone: 91 %, 273 ms and 8.6 MB/s.
constexpr double kMostAhead = 0.5;

}  // namespace

double SharedBuffers::Level(uint64_t coming_bytes) const {
  const bool is_full = stopped || used_bytes >= limit_bytes;
  if (!is_full && coming_bytes == 0 && used_bytes <= filling_bytes) return 0;
  const auto limit = static_cast<double>(std::max<uint64_t>(1, limit_bytes));
  const double level = (static_cast<double>(used_bytes + coming_bytes) / limit - kNoBacklog) / (1 - kNoBacklog);
  return std::max(is_full ? 1.0 : 0.0, level);
}

// While the largest buffer is flushed, only as many bytes may come in as the room holds.
Signal SharedBuffersSignal::Update(TimePoint now, const SharedBuffers& buffers, double flush_bytes_per_second,
                                   Duration sample_interval) {
  const double passed_s = last_time_ ? std::max(0.0, ToSeconds(now - *last_time_)) : 0;
  last_time_ = now;
  const auto largest = static_cast<double>(std::max<uint64_t>(1, buffers.largest_bytes));
  const double drain = flush_bytes_per_second * std::min(1.0, static_cast<double>(buffers.room_bytes()) / largest);
  const double span = std::max(1.0, (1 - kNoBacklog) * static_cast<double>(buffers.limit_bytes));
  const double ahead = std::min(kMostAhead * span, drain * ToSeconds(sample_interval));
  const bool is_busy =
      buffers.used_bytes > std::min(buffers.filling_bytes, std::exchange(last_used_bytes_, buffers.used_bytes));
  const double level = buffers.Level(is_busy ? static_cast<uint64_t>(ahead) : 0);
  // A stop that has ended must not look like one that lasts.
  held_ = std::max(level, std::min(1.0, held_) * std::exp(-passed_s / kHoldSeconds));
  return {.name = "buffers",
          .level = held_,
          .bytes_per_level = span,
          .dead_time = FromSeconds(span / std::max(1.0, drain)) + sample_interval,
          .drain_bytes_per_second = drain,
          .shows_inflow_at_once = true,
          .relieved_by_flush = true};
}

}  // namespace weir
