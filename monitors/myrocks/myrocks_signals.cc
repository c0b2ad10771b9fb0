#include "monitors/myrocks/myrocks_signals.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir {

void MyRocksSignals::Update(TimePoint now, const MyRocksFigures& figures, LoadSample* sample) {
  Watch(figures);
  engine_.TakeRunning(false, false);
  std::vector<RocksDbCounters> counters;
  std::vector<bool> has_level_below;
  for (const auto& [name, family] : figures.families) {
    const RocksDbCounters& c = family.counters;
    uint64_t runs_below_l0 = 0;
    for (size_t level = 1; level < c.levels.size(); ++level)
      if (c.levels[level].files > 0) ++runs_below_l0;
    engine_.Take(counters.size(), {.l0_files = static_cast<uint64_t>(c.l0_files),
                                   .runs_below_l0 = runs_below_l0,
                                   .immutable_memtables = family.immutable_memtables,
                                   .active_memtable_bytes = family.filling_bytes,
                                   .pending_compaction_bytes = EstimateDebt(family),
                                   .flush_pending = family.flushing,
                                   .compaction_pending = family.compacting});
    counters.push_back(c);
    has_level_below.push_back(c.base_level < family.num_levels - 1);
  }
  // MyRocks tells only how often all families braked.
  counters.front().slowdowns = figures.brakes;
  if (engine_.CountersAreDue(now)) engine_.TakeCounters(now, figures.user_bytes, std::move(counters), has_level_below);
  const auto background_bytes = static_cast<uint64_t>(figures.background_bytes);
  engine_.AddSignals(now, figures.io_limit_bytes_per_second, background_bytes, sample);
  sample->escapes = engine_.counted_brakes();
}

// Follows the families that came and went, and the options that were changed.
void MyRocksSignals::Watch(const MyRocksFigures& figures) {
  const size_t gone = std::erase_if(families_, [&](const auto& f) { return !figures.families.contains(f.first); });
  bool is_same = std::exchange(compares_, true) && gone == 0;
  bool has_same_buffers = true;
  for (const auto& [name, family] : figures.families) {
    const LsmGeometry geometry = GeometryAsSet(family.options);
    const auto [at, is_new] = families_.try_emplace(name, geometry, sample_interval_);
    is_same = is_same && !is_new;
    LsmFamily& watched = at->second;
    if (watched.geometry == geometry) continue;
    has_same_buffers = has_same_buffers && watched.geometry.write_buffer_bytes == geometry.write_buffer_bytes;
    watched.geometry = geometry;
    watched.signals.SetGeometry(geometry);
  }
  if (is_same) {
    if (!has_same_buffers) engine_.BuffersChanged();
    return;
  }
  std::vector<LsmFamily*> families;
  for (auto& [name, family] : families_) families.push_back(&family);
  engine_.SetFamilies(std::move(families));
}

}  // namespace weir
