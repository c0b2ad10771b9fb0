#include "monitors/lsm_engine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace weir {
namespace {

constexpr Duration kCountersInterval = std::chrono::seconds(1);
constexpr Duration kLeastCountersInterval = std::chrono::milliseconds(300);

// A family that takes a smaller share counts as if it took this one: the reaction to its level is strong enough.
constexpr double kLeastShare = 0.1;

// No database is that large. A figure beyond it comes from a text that is damaged.
constexpr double kMostBytes = 1e18;
constexpr uint64_t kMostMemtables = 1'000'000;

double Tame(double number) { return std::isfinite(number) ? std::clamp(number, -kMostBytes, kMostBytes) : 0; }

void Tame(RocksDbCounters* c) {
  for (double* number :
       {&c->drained_from_l0_bytes, &c->base_level_bytes, &c->flushed_table_bytes, &c->flushed_bytes,
        &c->compaction_written_bytes, &c->flush_bytes_per_second, &c->l0_files, &c->l0_bytes, &c->highest_score})
    *number = Tame(*number);
  c->base_level_bytes = std::max(0.0, c->base_level_bytes);
  c->l0_files = std::floor(c->l0_files);
}

uint64_t Grown(double now, double before) { return static_cast<uint64_t>(std::max(0.0, now - before)); }

}  // namespace

// The sums over the families change, so the next counters have nothing to be compared with.
void LsmEngine::SetFamilies(std::vector<LsmFamily*> families) {
  families_ = std::move(families);
  has_counters_ = false;
  BuffersChanged();
}

void LsmEngine::BuffersChanged() {
  std::vector<double> buffers;
  for (const LsmFamily* f : families_) buffers.push_back(static_cast<double>(f->geometry.write_buffer_bytes));
  burst_ = WriteBurst(buffers);
  if (!started_) disk_ratio_ = DiskRatio(std::accumulate(buffers.begin(), buffers.end(), 0.0));
}

void LsmEngine::TakeRunning(bool compacting, bool flushing) {
  sums_.compacting = compacting;
  sums_.flushing = flushing;
}

void LsmEngine::Take(size_t family, const LsmReading& reading) {
  LsmFamily& f = *families_[family];
  LsmFacts& facts = f.facts;
  sums_.compacting = sums_.compacting || reading.compaction_pending;
  sums_.flushing = sums_.flushing || reading.flush_pending;
  facts.pending_compaction_bytes = reading.pending_compaction_bytes;
  uint64_t l0_files = reading.l0_files;
  if (f.geometry.counts_runs) {
    l0_files += reading.runs_below_l0;
    const uint64_t gone = facts.l0_files > l0_files ? facts.l0_files - l0_files : 0;
    const double bytes_of_run = static_cast<double>(f.geometry.write_buffer_bytes) * f.geometry.buffers_per_flush;
    sums_.total_drained_bytes +=
        static_cast<uint64_t>(std::min(kMostBytes, static_cast<double>(gone) * bytes_of_run * disk_ratio_.value()));
  }
  const int immutable = static_cast<int>(std::min<uint64_t>(reading.immutable_memtables, kMostMemtables));
  l0_changed_ = l0_changed_ || l0_files < facts.l0_files || facts.immutable_memtables > immutable + 1;
  facts.l0_files = l0_files;
  facts.immutable_memtables = immutable;
  const uint64_t buffer = f.geometry.write_buffer_bytes;
  f.filling_bytes = std::min(reading.active_memtable_bytes, buffer);
  facts.memtable_bytes = static_cast<uint64_t>(immutable) * buffer + f.filling_bytes;
}

bool LsmEngine::CountersAreDue(TimePoint now) const {
  const Duration age = has_counters_ ? now - last_counters_ : kCountersInterval;
  return age < Duration::zero() || age >= kCountersInterval || (l0_changed_ && age >= kLeastCountersInterval);
}

void LsmEngine::TakeCounters(TimePoint now, double user_bytes, std::vector<RocksDbCounters> counters,
                             const std::vector<bool>& has_level_below) {
  user_bytes = Tame(user_bytes);
  for (RocksDbCounters& c : counters) Tame(&c);
  // Bytes that are still in memtables will be flushed later.
  double left_memtables = user_bytes;
  for (const LsmFamily* f : families_) left_memtables -= static_cast<double>(f->facts.memtable_bytes);
  const uint64_t flushed_before = sums_.total_flushed_bytes;
  uint64_t brakes = 0;
  for (size_t i = 0; i < families_.size(); ++i) {
    brakes += counters[i].slowdowns + counters[i].stops;
    TakeCountersOf(i, std::move(counters[i]), has_level_below[i]);
  }
  // After DB::ResetStats the counters begin at 0 again.
  if (has_counters_) counted_brakes_ += brakes < last_brakes_ ? brakes : brakes - last_brakes_;
  if (has_counters_ && user_bytes >= user_bytes_) {
    disk_ratio_.Update(left_memtables - left_memtables_,
                       static_cast<double>(sums_.total_flushed_bytes - flushed_before));
  }
  last_brakes_ = brakes;
  user_bytes_ = user_bytes;
  left_memtables_ = left_memtables;
  l0_changed_ = false;
  last_counters_ = now;
  has_counters_ = started_ = true;
}

void LsmEngine::TakeCountersOf(size_t family, RocksDbCounters c, bool has_level_below) {
  LsmFamily& f = *families_[family];
  const uint64_t memtables_before = std::exchange(f.counted_memtables, f.facts.memtable_bytes);
  if (f.counted) {
    const double flushed = std::max(0.0, c.flushed_bytes - f.counters.flushed_bytes);
    burst_.Took(family, flushed / disk_ratio_.value() + static_cast<double>(f.counted_memtables) -
                            static_cast<double>(memtables_before));
    f.table_share.Update(flushed, std::max(0.0, c.flushed_table_bytes - f.counters.flushed_table_bytes));
    sums_.total_flushed_bytes += Grown(c.flushed_bytes, f.counters.flushed_bytes);
    sums_.total_compacted_bytes += Grown(c.compaction_written_bytes, f.counters.compaction_written_bytes);
    // Each level has counters of its own, so there is no difference to add when the base level has moved.
    if (c.base_level == f.counters.base_level && !f.geometry.counts_runs) {
      sums_.total_drained_bytes += Grown(c.drained_from_l0_bytes, f.counters.drained_from_l0_bytes);
      // The bytes of a last level need not move on.
      if (has_level_below) sums_.l1_bytes += static_cast<int64_t>(c.base_level_bytes - f.counters.base_level_bytes);
    }
  }
  f.facts.deepest_score = c.highest_score;
  f.counters = std::move(c);
  f.counted = true;
}

// Only the levels come from a family's own facts. A family receives only a share of the bytes that are written, so more
// bytes are needed to raise its level.
void LsmEngine::AddSignals(TimePoint now, double background_bytes_per_second, uint64_t total_background_bytes,
                           LoadSample* sample) {
  sample->write_burst_bytes = burst_.Bytes();
  for (size_t i = 0; i < families_.size(); ++i) {
    LsmFamily& f = *families_[i];
    LsmFacts facts = f.facts;
    const double mean_file = f.counters.l0_files > 0 ? f.counters.l0_bytes / f.counters.l0_files : 0;
    // Until the counters are read again, fewer files count as the bytes that were there before: RocksDB may have merged
    // them within L0, and the new number times the old mean size would show a drain that did not happen.
    const double files = l0_changed_ ? std::max(static_cast<double>(facts.l0_files), f.counters.l0_files)
                                     : static_cast<double>(facts.l0_files);
    facts.l1_size_bytes = static_cast<uint64_t>(f.counters.base_level_bytes);
    // The flush of a few bytes takes as long as syncing a file does, and says nothing about the speed.
    const bool flushed_much = f.counters.flushed_bytes >= static_cast<double>(f.geometry.write_buffer_bytes);
    facts.flush_bytes_per_second = flushed_much ? f.counters.flush_bytes_per_second : 0;
    // A run may hold all data, merged, so only the number of runs counts.
    facts.l0_bytes = f.geometry.counts_runs ? 0 : static_cast<uint64_t>(std::clamp(files * mean_file, 0.0, kMostBytes));
    facts.flushing = sums_.flushing;
    facts.compacting = sums_.compacting;
    facts.background_bytes_per_second = background_bytes_per_second;
    facts.total_background_bytes = total_background_bytes;
    facts.total_flushed_bytes = sums_.total_flushed_bytes;
    facts.total_drained_bytes = sums_.total_drained_bytes;
    facts.total_compacted_bytes = sums_.total_compacted_bytes;
    facts.l1_bytes = sums_.l1_bytes;
    facts.disk_bytes_per_user_byte = disk_ratio_.value();
    facts.table_bytes_per_user_byte = disk_ratio_.value() * f.table_share.value();

    LoadSample own;
    f.signals.Update(now, facts, &own);
    for (Signal signal : own.signals()) {
      signal.bytes_per_level /= std::max(kLeastShare, burst_.ShareOf(i));
      sample->AddHighest(signal);
    }
  }
}

}  // namespace weir
