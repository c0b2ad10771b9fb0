#include "monitors/lsm_options.h"

#include <algorithm>
#include <limits>

namespace weir {

// The corrections are RocksDB's own (SanitizeOptions in column_family.cc).
LsmGeometry GeometryAsSet(const LsmOptions& o) {
  constexpr int kNever = std::numeric_limits<int>::max();
  LsmGeometry g;
  g.write_buffer_bytes = std::max<uint64_t>(o.write_buffer_size, 64 << 10);
  g.brakes.max_write_buffers = std::max(o.max_write_buffer_number, 2);
  g.buffers_per_flush = std::clamp(o.min_write_buffer_number_to_merge, 1, g.brakes.max_write_buffers - 1);
  g.l0_trigger = std::clamp(o.level0_file_num_compaction_trigger, 1, kNever - 1);
  // A negative slowdown trigger means no slowdown; then the first brake is the stop.
  const int first_brake =
      o.level0_slowdown_writes_trigger < 0 ? o.level0_stop_writes_trigger : o.level0_slowdown_writes_trigger;
  g.brakes.l0_slowdown = std::max(first_brake, g.l0_trigger + 1);
  g.brakes.l0_stop = std::max(o.level0_stop_writes_trigger, g.brakes.l0_slowdown);
  g.counts_runs = o.compaction_style == CompactionStyle::kUniversal;
  g.l1_bytes = o.compaction_style == CompactionStyle::kLevel ? o.max_bytes_for_level_base : 0;
  g.l1_size_varies = g.l1_bytes > 0 && o.level_compaction_dynamic_level_bytes;
  g.brakes.hard_pending_bytes = o.hard_pending_compaction_bytes_limit;
  g.brakes.soft_pending_bytes = o.soft_pending_compaction_bytes_limit;
  if (g.brakes.soft_pending_bytes == 0 ||
      (g.brakes.hard_pending_bytes > 0 && g.brakes.soft_pending_bytes > g.brakes.hard_pending_bytes))
    g.brakes.soft_pending_bytes = g.brakes.hard_pending_bytes;
  g.compaction_brakes = !o.disable_auto_compactions;
  if (o.compaction_style == CompactionStyle::kFifo) {
    g.brakes.l0_slowdown = g.brakes.l0_stop = kNever;
    g.compaction_brakes = false;
  }
  return g;
}

}  // namespace weir
