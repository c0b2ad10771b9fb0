#include "bench/simulator/lsm_plant.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monitors/memory_only_monitor.h"

namespace weir {
namespace {

// RocksDB's factors (column_family.cc): near a stop, while the debt grows, while it falls, and on leaving a delay.
constexpr double kNearStop = 0.6;
constexpr double kSlower = 0.8;
constexpr double kFaster = 1.25;
constexpr double kRecovered = 1.4;

// The size of a level relative to the one above it.
constexpr double kLevelMultiplier = 10;

// Work that is shorter than this counts as done: the clock has whole nanoseconds.
constexpr double kDoneBytes = 0.5;

double AsDouble(uint64_t n) { return static_cast<double>(n); }
uint64_t AsWhole(double bytes) { return static_cast<uint64_t>(std::llround(std::max(0.0, bytes))); }

double HighestDelayed(const LsmPlantOptions& options) {
  const double set = options.highest_delayed_bytes_per_second;
  return set > 0 ? set : options.geometry.background_bytes_per_second;
}

}  // namespace

LsmPlant::LsmPlant(const LsmPlantOptions& options, TimePoint start)
    : options_(options),
      buffer_bytes_(AsDouble(options.geometry.write_buffer_bytes)),
      brakes_(BrakesOf(options.geometry)),
      background_(options.geometry.background_bytes_per_second),
      now_(start),
      l0_files_(options.l0_files_at_start),
      l0_bytes_(AsDouble(l0_files_) * buffer_bytes_ / options.memory_per_user_byte),
      levels_{options.l1_at_start_bytes},
      delayed_rate_(HighestDelayed(options)),
      signals_(options.geometry, options.sample_interval) {
  levels_.insert(levels_.end(), options.lower_bytes.begin(), options.lower_bytes.end());
  StartCompaction();
  UpdateBrakes();
}

void LsmPlant::AdvanceTo(TimePoint now) {
  while (now_ < now) {
    const TimePoint until = std::min(now, NextEvent());
    const double seconds = ToSeconds(until - now_);
    now_ = until;
    if (brake_ != Brake::kNone) stalled_s_ += seconds;
    Progress(seconds);
    if (flushing_ > 0 && flush_left_ <= kDoneBytes) EndFlush();
    if (compacting() && job_left_ <= kDoneBytes) EndCompaction();
  }
}

TimePoint LsmPlant::NextEvent() const {
  const Rates rates = Share();
  double seconds = 3600;
  if (rates.flush > 0) seconds = std::min(seconds, flush_left_ / rates.flush);
  if (rates.compaction > 0) seconds = std::min(seconds, job_left_ / rates.compaction);
  return now_ + FromSeconds(seconds) + std::chrono::nanoseconds(1);
}

LsmPlant::Rates LsmPlant::Share() const {
  if (flushing_ == 0) return {.compaction = compacting() ? background_ : 0};
  if (!compacting()) return {.flush = background_};
  const double share = brake_ == Brake::kNone ? options_.flush_share : options_.flush_share_braking;
  return {.flush = share * background_, .compaction = (1 - share) * background_};
}

void LsmPlant::Progress(double seconds) {
  const Rates rates = Share();
  total_background_ += std::min(flush_left_, rates.flush * seconds) + std::min(job_left_, rates.compaction * seconds);
  flush_left_ = std::max(0.0, flush_left_ - rates.flush * seconds);
  job_left_ = std::max(0.0, job_left_ - rates.compaction * seconds);
}

double LsmPlant::WriteBytesPerSecond() const {
  switch (brake_) {
    case Brake::kStopped:
      return 0;
    case Brake::kDelayed:
      return std::min(options_.insert_bytes_per_second, delayed_rate_);
    case Brake::kNone:
      break;
  }
  return options_.insert_bytes_per_second;
}

void LsmPlant::Write(double user_bytes) {
  active_bytes_ += user_bytes * options_.memory_per_user_byte;
  if (active_bytes_ < buffer_bytes_) return;
  active_bytes_ -= buffer_bytes_;
  ++immutable_;
  StartFlush();
  UpdateBrakes();
}

void LsmPlant::StartFlush() {
  if (flushing_ > 0 || immutable_ < options_.geometry.buffers_per_flush) return;
  flushing_ = immutable_;
  flush_bytes_ = flushing_ * buffer_bytes_ / options_.memory_per_user_byte;
  flush_left_ = flush_bytes_;
}

void LsmPlant::EndFlush() {
  immutable_ -= flushing_;
  flushing_ = 0;
  ++l0_files_;
  l0_bytes_ += flush_bytes_;
  total_flushed_ += flush_bytes_;
  StartFlush();
  StartCompaction();
  UpdateBrakes();
}

double LsmPlant::TargetOf(size_t level) const {
  return AsDouble(options_.geometry.l1_bytes) * std::pow(kLevelMultiplier, static_cast<double>(level));
}

double LsmPlant::Score(size_t level) const {
  double idle_bytes = levels_[level];
  if (job_from_ == 0 && level == 0) idle_bytes = 0;
  if (job_from_ == static_cast<int>(level) + 1) idle_bytes -= job_bytes_;
  return idle_bytes / TargetOf(level);
}

void LsmPlant::StartCompaction() {
  if (compacting()) return;
  int from = 0;
  double highest = AsDouble(l0_files_) / options_.geometry.l0_trigger;
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (Score(level) <= highest) continue;
    highest = Score(level);
    from = static_cast<int>(level) + 1;
  }
  if (highest < 1) return;
  job_from_ = from;
  if (from == 0) {
    job_files_ = l0_files_;
    job_bytes_ = l0_bytes_;
    job_written_ = l0_bytes_ + levels_[0];
  } else {
    const size_t level = static_cast<size_t>(from) - 1;
    if (level + 1 == levels_.size()) levels_.push_back(0);
    // Compacts one file, which is as large as a memtable in all geometries of the simulator. If the next level is
    // empty, the file is only moved.
    job_bytes_ = std::min(levels_[level], buffer_bytes_);
    const double below = levels_[level + 1];
    job_written_ = below > 0 ? job_bytes_ * (1 + options_.overlap_share * below / levels_[level]) : 0;
  }
  chance_ = chance_ * 1664525 + 1013904223;
  job_written_ *= 1 + options_.unevenness * (2.0 * chance_ / 4294967296.0 - 1);
  job_left_ = job_written_;
}

void LsmPlant::EndCompaction() {
  const auto from = static_cast<size_t>(job_from_);
  if (from == 0) {
    l0_files_ -= job_files_;
    l0_bytes_ = l0_files_ == 0 ? 0 : l0_bytes_ - job_bytes_;
    total_drained_ += job_bytes_;
  } else {
    levels_[from - 1] -= job_bytes_;
  }
  const bool is_last = from > 0 && from + 1 == levels_.size();
  levels_[from] += is_last ? job_bytes_ * std::max(0.0, 1 - levels_[from] / options_.distinct_bytes) : job_bytes_;
  total_compacted_ += job_written_;
  job_from_ = kNoJob;
  StartCompaction();
  UpdateBrakes();
}

// RocksDB's EstimateCompactionBytesNeeded: L0 with all of L1 from the trigger on, then the excess of each level, with
// the bytes that it meets below.
double LsmPlant::PendingBytes() const {
  double pending = 0;
  double arrives = 0;
  if (l0_files_ >= static_cast<uint64_t>(options_.geometry.l0_trigger)) {
    pending += l0_bytes_ + levels_[0];
    arrives = l0_bytes_;
  }
  for (size_t level = 0; level < levels_.size(); ++level) {
    const double bytes = levels_[level] + arrives;
    arrives = std::max(0.0, bytes - TargetOf(level));
    const double below = level + 1 < levels_.size() ? levels_[level + 1] : 0;
    if (arrives > 0 && below > 0) pending += arrives * (1 + below / bytes);
  }
  return pending;
}

LsmPlant::Brake LsmPlant::Condition(bool* near_stop) const {
  const int l0 = static_cast<int>(l0_files_);
  const double pending = PendingBytes();
  *near_stop = false;
  if (immutable_ >= brakes_.max_write_buffers || l0 >= brakes_.l0_stop ||
      pending >= AsDouble(brakes_.hard_pending_bytes))
    return Brake::kStopped;
  if (brakes_.max_write_buffers > 3 && immutable_ >= brakes_.max_write_buffers - 1) return Brake::kDelayed;
  if (l0 >= brakes_.l0_slowdown) {
    *near_stop = l0 >= brakes_.l0_stop - 2;
    return Brake::kDelayed;
  }
  if (pending < AsDouble(brakes_.soft_pending_bytes)) return Brake::kNone;
  *near_stop = pending - AsDouble(brakes_.soft_pending_bytes) >
               0.75 * (AsDouble(brakes_.hard_pending_bytes) - AsDouble(brakes_.soft_pending_bytes));
  return Brake::kDelayed;
}

// RocksDB's RecalculateWriteStallConditions, at the same moments: memtable full, flush or compaction done.
void LsmPlant::UpdateBrakes() {
  bool near_stop = false;
  const Brake next = Condition(&near_stop);
  const double pending = PendingBytes();
  if (next == Brake::kDelayed && brake_ == Brake::kDelayed) {
    if (near_stop) {
      delayed_rate_ *= kNearStop;
    } else if (last_pending_ > 0) {
      delayed_rate_ *= last_pending_ <= pending ? kSlower : kFaster;
    }
  } else if (next == Brake::kNone && brake_ == Brake::kDelayed) {
    delayed_rate_ *= kRecovered;
  }
  const double highest = HighestDelayed(options_);
  delayed_rate_ = std::clamp(delayed_rate_, std::min(options_.lowest_delayed_bytes_per_second, highest), highest);
  if (next > brake_) ++escapes_;
  brake_ = next;
  last_pending_ = pending;
}

void LsmPlant::Sense(TimePoint now, LoadSample* sample) {
  const PlantView view = View();
  LsmFacts facts;
  facts.memtable_bytes = AsWhole(view.memtable_bytes);
  facts.immutable_memtables = view.immutable_memtables;
  facts.l0_files = view.l0_files;
  facts.l0_bytes = AsWhole(view.l0_bytes);
  facts.pending_compaction_bytes = AsWhole(view.pending_bytes);
  for (size_t level = 0; level < levels_.size(); ++level)
    facts.deepest_score = std::max(facts.deepest_score, Score(level));
  facts.flushing = view.flushing;
  facts.compacting = view.compacting;
  facts.total_flushed_bytes = AsWhole(total_flushed_);
  facts.total_drained_bytes = AsWhole(total_drained_);
  facts.total_compacted_bytes = AsWhole(total_compacted_);
  facts.l1_bytes = static_cast<int64_t>(AsWhole(levels_[0]));
  facts.total_background_bytes = AsWhole(total_background_);
  signals_.Update(now, facts, sample);

  const Signal memory =
      MemorySignal(AsWhole(view.memory_bytes), AsWhole(options_.memory_target_bytes), options_.sample_interval);
  sample->Add(memory);
  sample->memory_pressure = memory.level;
  sample->memory_bytes = AsWhole(view.memory_bytes);
  sample->write_burst_bytes = options_.geometry.write_buffer_bytes / 2;
  sample->escapes = escapes_;
}

PlantView LsmPlant::View() const {
  const double memtables = active_bytes_ + immutable_ * buffer_bytes_;
  return {.l0_files = l0_files_,
          .l0_bytes = l0_bytes_,
          .l1_bytes = levels_[0],
          .tree_bytes = std::accumulate(levels_.begin(), levels_.end(), l0_bytes_),
          .memtable_bytes = memtables,
          .immutable_memtables = immutable_,
          .pending_bytes = PendingBytes(),
          .memory_bytes = options_.other_memory_bytes + memtables,
          .flushing = flushing_ > 0,
          .compacting = compacting(),
          .delayed = brake_ == Brake::kDelayed,
          .stopped = brake_ == Brake::kStopped,
          .total_flushed_bytes = total_flushed_,
          .total_drained_bytes = total_drained_,
          .escapes = escapes_,
          .stalled_seconds = stalled_s_};
}

}  // namespace weir
