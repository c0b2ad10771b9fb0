#include "monitors/lsm_geometry.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

// A huge trigger means that it is disabled. Its sum must not overflow.
int Sum(int64_t a, int64_t b) { return static_cast<int>(std::min<int64_t>(a + b, std::numeric_limits<int>::max())); }

uint64_t Times8(uint64_t limit) {
  return limit > std::numeric_limits<uint64_t>::max() / 8 ? std::numeric_limits<uint64_t>::max() : limit * 8;
}

}  // namespace

double LsmGeometry::L0FilesAtOne() const {
  const double slowdown = brakes.l0_slowdown;
  if (!brakes_moved) return slowdown;
  return std::min((slowdown + std::max(brakes.l0_slowdown, brakes.l0_stop)) / 2.0, slowdown + (slowdown - l0_trigger));
}

double LsmGeometry::DebtAtOne() const { return static_cast<double>(BrakesOf(*this).soft_pending_bytes); }

LsmBrakes BrakesOf(const LsmGeometry& g) {
  LsmBrakes brakes = g.brakes;
  if (!g.brakes_moved) return brakes;
  // The program may raise the trigger beyond the old slowdown while the engine runs.
  const int64_t moved_by = 2 * std::max<int64_t>(0, static_cast<int64_t>(brakes.l0_slowdown) - g.l0_trigger);
  brakes.max_write_buffers = Sum(brakes.max_write_buffers, 2);
  brakes.l0_stop = Sum(std::max(brakes.l0_stop, brakes.l0_slowdown), moved_by);
  brakes.l0_slowdown = Sum(brakes.l0_slowdown, moved_by);
  brakes.soft_pending_bytes = Times8(brakes.soft_pending_bytes);
  brakes.hard_pending_bytes = Times8(brakes.hard_pending_bytes);
  return brakes;
}

LsmGeometry PreparedGeometry(LsmGeometry g, int most_per_flush) {
  g.brakes_moved = true;
  if (g.buffers_per_flush > 1) return g;
  // Options that are read from a text may have any size.
  const uint64_t l0_at_trigger = std::max<uint64_t>(1, g.write_buffer_bytes * static_cast<uint64_t>(g.l0_trigger));
  // While one half of the buffers is flushed, the other half is filled.
  const auto most = static_cast<uint64_t>(std::max(1, std::min(g.brakes.max_write_buffers / 2, most_per_flush)));
  // The larger a run is, the fewer times universal compaction merges it: in the storm, bulk work rises from 4.3 to 4.7
  // MB/s.
  const uint64_t match = g.counts_runs ? most : g.l1_bytes / l0_at_trigger;
  g.buffers_per_flush = static_cast<int>(std::clamp<uint64_t>(match, 1, most));
  g.brakes.max_write_buffers = Sum(g.brakes.max_write_buffers, g.buffers_per_flush - 1);
  return g;
}

}  // namespace weir
