#include "monitors/rocksdb_unmarked.h"

#include <cstdint>
#include <optional>

#include "monitors/rocksdb_mark.h"
#include "monitors/rocksdb_options.h"

namespace weir {
namespace {

// Returns how many times the limits of debt of a fresh family were multiplied by eight to get these; 0 for any others.
int Preparations(const LsmBrakes& brakes) {
  const LsmBrakes fresh = BrakesIn(rocksdb::ColumnFamilyOptions());
  uint64_t soft = fresh.soft_pending_bytes;
  uint64_t hard = fresh.hard_pending_bytes;
  for (int times = 1; times <= 8; ++times) {
    soft *= 8;
    hard *= 8;
    if (brakes.soft_pending_bytes == soft && brakes.hard_pending_bytes == hard) return times;
  }
  return 0;
}

// Returns the brakes for L0 before they were moved; nullopt if no whole numbers lead to these.
std::optional<LsmBrakes> BeforeMove(LsmBrakes brakes, int l0_trigger) {
  const int64_t three_times = int64_t{brakes.l0_slowdown} + 2 * int64_t{l0_trigger};
  if (three_times % 3 != 0) return std::nullopt;
  const int before = static_cast<int>(three_times / 3);
  brakes.l0_stop -= brakes.l0_slowdown - before;
  brakes.l0_slowdown = before;
  brakes.soft_pending_bytes /= 8;
  brakes.hard_pending_bytes /= 8;
  return brakes;
}

// Prepares options of this geometry as often as that weir did. It did not merge flushes with atomic_flush.
LsmGeometry PreparedTimes(LsmGeometry geometry, int times, bool merges) {
  for (int n = 0; n < times; ++n) {
    geometry = merges ? PreparedGeometry(geometry) : PreparedGeometry(geometry, 1);
    geometry.brakes = BrakesOf(geometry);
    geometry.brakes_moved = false;
  }
  return geometry;
}

// Returns the geometry that became `now` by so many preparations; nullopt if there is none.
std::optional<LsmGeometry> BeforePreparations(const LsmGeometry& now, int times) {
  LsmGeometry given = now;
  for (int n = 0; n < times; ++n) {
    const std::optional<LsmBrakes> before = BeforeMove(given.brakes, now.l0_trigger);
    if (!before) return std::nullopt;
    given.brakes = *before;
  }
  for (const int per_flush : {1, now.buffers_per_flush}) {
    given.buffers_per_flush = per_flush;
    for (given.brakes.max_write_buffers = 2; given.brakes.max_write_buffers < now.brakes.max_write_buffers;
         ++given.brakes.max_write_buffers) {
      for (const bool merges : {true, false})
        if (PreparedTimes(given, times, merges) == now) return given;
    }
  }
  return std::nullopt;
}

}  // namespace

bool TakeBackUnmarked(rocksdb::ColumnFamilyOptions* options) {
  const LsmBrakes brakes = BrakesIn(*options);
  const int times = IsMarked(*options) ? 0 : Preparations(brakes);
  if (times == 0) return false;
  const LsmGeometry now = GeometryAsSet(*options);
  // RocksDB would correct options that weir did not write.
  const bool is_exact = now.brakes == brakes && now.buffers_per_flush == options->min_write_buffer_number_to_merge;
  const std::optional<LsmGeometry> given = is_exact ? BeforePreparations(now, times) : std::nullopt;
  if (!given) return false;
  options->min_write_buffer_number_to_merge = given->buffers_per_flush;
  options->max_write_buffer_number = given->brakes.max_write_buffers;
  options->level0_slowdown_writes_trigger = given->brakes.l0_slowdown;
  options->level0_stop_writes_trigger = given->brakes.l0_stop;
  options->soft_pending_compaction_bytes_limit = given->brakes.soft_pending_bytes;
  options->hard_pending_compaction_bytes_limit = given->brakes.hard_pending_bytes;
  return true;
}

}  // namespace weir
