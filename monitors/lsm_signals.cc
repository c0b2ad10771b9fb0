#include "monitors/lsm_signals.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// The speed that the disk is assumed to have until compactions were measured. It gives RocksDB's default geometry a
// dead time of 10 s.
constexpr double kAssumedDiskBytesPerSecond = 150e6;

// The speed that flushes are assumed to have until one was measured, because the processor may be slower than the disk:
// with ZSTD two cores flushed 25 to 40 MB/s, and when 150 MB/s were assumed, the first second of a burst filled seven
// memtables.
constexpr double kAssumedFlushBytesPerSecond = 48e6;

// Each byte that comes in is written about this many times on its way down: the first guess at L0's drain.
constexpr double kAssumedWriteAmplification = 5;

// The bytes that a compaction of L0 leaves in L1 must still be moved on to L2. This writes about two bytes for each of
// them, because it also rewrites bytes of L2. (In simulation 1.5 to 3 work as well.) The bytes count when they reach
// L1, not when they leave it: the first compactions meet an empty L1 and would otherwise suggest twice the drain that
// can be sustained (a simulated overload from an empty tree rose 20 % above the setpoint instead of 9 %).
constexpr double kOwedPerL1Byte = 2;

// The time over which the background's speed is measured: it spans many samples, and few compactions (1.5 to 5 s each).
constexpr double kThroughputSeconds = 2;

// Compactions that only wait, or only move files, write next to nothing: with fewer bytes than this they say nothing
// about the background's speed.
constexpr double kSpeakingBytes = 32 << 20;
// A disk that is fast only for a while (such as a cloud disk with credits) must not count as fast for good.
constexpr double kFadeSeconds = 300;

// During a longer step between two samples the process, and the engine in it, may have stood still (SIGSTOP, a paused
// container). Ten minutes without a drained byte made the drain a hundredth of what it was.
constexpr Duration kLongestStep = std::chrono::seconds(2);
constexpr int kLongestStepInIntervals = 3;

// The level for which the dead time is computed: the usual setpoint.
constexpr double kTypicalLevel = 0.85;
// A huge trigger means that it is disabled. Multiples of the dead time must not overflow.
constexpr double kLongestSeconds = 3600;

// Returns a time that follows from what the engine tells, which may be anything.
Duration AsTime(double seconds) { return FromSeconds(std::min(seconds, kLongestSeconds)); }

// A compaction of L0 takes at least the files that trigger it. A fall by less than half of them is no compaction, but a
// flush that merged two memtables into one file.
constexpr double kGulpShareOfTrigger = 0.5;
// Bytes that flow in between two samples hide a part of a fall.
constexpr double kVisibleShareOfGulp = 0.75;

// Between two compactions of L0 there is one of L1 that takes about as long (measured: 4 to 7 s a cycle, of which the
// one of L0 takes 1.5 to 5).
constexpr int kCompactionsPerCycle = 2;

// The debt jumps by the size of L1 when L0 reaches its trigger; the score of L1 runs from 0 to 3 within one cycle of
// compactions (measured: 4 to 7 s). With a smoothing over 2 s, the debt's jumps made the limit swing between nothing
// and twice the sustained rate.
constexpr Duration kCycleSmoothing = std::chrono::seconds(10);

// The bytes per level, as a share of the debt at 1.0: the slope of the logarithm at the setpoint of bulk work
// (3 · ln 2 · 8 ^ (0.7 - 1)).
constexpr double kDebtPerLevel = 1.1;

// Files of L0 come with the cycles of compactions, and a mean over few of them jumps.
constexpr Duration kL0ShareSmoothing = std::chrono::seconds(10);
constexpr double kLeastL0Share = 1.0 / 64;

constexpr double kLeast = 64 << 10;  // bytes/s; a speed that is a divisor is at least this

// A table has 30 bytes for each value of 64 KiB if the values are in blob files.
constexpr double kLeastRatio = 1e-4;
constexpr double kMostRatio = 10;

double AsDouble(uint64_t bytes) { return static_cast<double>(bytes); }

double GulpBytes(const LsmGeometry& g) {
  const double files = std::max(1.0, kGulpShareOfTrigger * g.l0_trigger);
  return kVisibleShareOfGulp * files * g.buffers_per_flush * AsDouble(g.write_buffer_bytes);
}

}  // namespace

LsmSignals::LsmSignals(const LsmGeometry& geometry, Duration sample_interval)
    : geometry_(geometry),
      sample_interval_(sample_interval),
      l0_envelope_({.gulp_bytes = GulpBytes(geometry)}),
      l0_share_(kL0ShareSmoothing),
      l0_drain_(0),
      flush_drain_(0),
      compaction_(kAssumedDiskBytesPerSecond),
      score_(kCycleSmoothing),
      debt_(kCycleSmoothing),
      io_limit_(geometry.background_bytes_per_second) {}

void LsmSignals::SetGeometry(const LsmGeometry& geometry) {
  // The backlog counts in write buffers, so a backlog in buffers of another size cannot be compared with it.
  if (GulpBytes(geometry) != GulpBytes(geometry_)) l0_envelope_ = DrainEnvelope({.gulp_bytes = GulpBytes(geometry)});
  geometry_ = geometry;
}

void LsmSignals::Update(TimePoint now, const LsmFacts& facts, LoadSample* sample) {
  disk_per_user_ = std::clamp(facts.disk_bytes_per_user_byte, kLeastRatio, kMostRatio);
  table_per_user_ = std::clamp(facts.table_bytes_per_user_byte, kLeastRatio, kMostRatio);
  if (facts.background_bytes_per_second > 0) io_limit_ = facts.background_bytes_per_second;
  l1_size_bytes_ = facts.l1_size_bytes;
  // These hold until the first measurement.
  l0_drain_.SetPrior(BackgroundBytesPerSecond() / kAssumedWriteAmplification);
  const double flush = facts.flush_bytes_per_second > 0 ? facts.flush_bytes_per_second : kAssumedFlushBytesPerSecond;
  flush_drain_.SetPrior(std::min(BackgroundBytesPerSecond(), flush));
  l0_envelope_.SetFirstCycle(kCompactionsPerCycle * L0DeadTime());
  const Duration step = now - last_time_;
  const bool is_long = step > std::max(kLongestStep, kLongestStepInIntervals * sample_interval_);
  if (started_) is_long ? PassOver(facts) : Meter(step, facts);
  started_ = true;
  last_time_ = now;
  last_ = facts;
  sample->Add(Memtables(facts));
  sample->Add(L0(now, facts));
  sample->Add(Score(now, facts));
  sample->Add(Debt(now, facts));
}

void LsmSignals::Meter(Duration dt, const LsmFacts& facts) {
  const auto grown = [](uint64_t now, uint64_t before) { return now > before ? AsDouble(now - before) : 0; };
  FollowThroughput(dt, facts);
  // If a flush or compaction runs at a sample, all the time since the last sample counts as busy, which is right on
  // average.
  const bool l0_waits = geometry_.compaction_brakes && facts.l0_files >= static_cast<uint64_t>(geometry_.l0_trigger);
  if (facts.compacting || l0_waits) uncounted_s_ += ToSeconds(dt);
  uncounted_s_ += kOwedPerL1Byte * static_cast<double>(facts.l1_bytes - last_.l1_bytes) / BackgroundBytesPerSecond();
  // Bytes that were deleted from L1, not moved on, were counted in advance without reason, so the correction is
  // bounded.
  uncounted_s_ = std::max(uncounted_s_, -2 * ToSeconds(L0DeadTime()));
  if (uncounted_s_ > 0) l0_drain_.Busy(AsTime(std::exchange(uncounted_s_, 0)));
  if (facts.compacting) compaction_.Busy(dt);
  if (facts.flushing) flush_drain_.Busy(dt);
  l0_drain_.Drained(grown(facts.total_drained_bytes, last_.total_drained_bytes));
  compaction_.Drained(grown(facts.total_compacted_bytes, last_.total_compacted_bytes));
  flush_drain_.Drained(grown(facts.total_flushed_bytes, last_.total_flushed_bytes));
}

// Drops the bytes of a long step. If they counted without the time of the step, and only the caller had stood still
// while the engine drained for a minute, the drain would be many times too high. The busy time before the step belongs
// to the dropped bytes, so it is dropped with them.
void LsmSignals::PassOver(const LsmFacts& facts) {
  if (facts.total_drained_bytes > last_.total_drained_bytes) l0_drain_.SkipGulp();
  if (facts.total_compacted_bytes > last_.total_compacted_bytes) compaction_.SkipGulp();
  if (facts.total_flushed_bytes > last_.total_flushed_bytes) flush_drain_.SkipGulp();
}

// A compaction reports its bytes when it ends, but the bytes that it has written so far show within seconds that the
// disk, and so the drain, became slower.
void LsmSignals::FollowThroughput(Duration dt, const LsmFacts& facts) {
  const double dt_s = ToSeconds(dt);
  const bool known = last_.total_background_bytes > 0 && facts.total_background_bytes >= last_.total_background_bytes;
  if (!known || !facts.compacting || !last_.compacting || dt_s <= 0) return;
  const double newest = AsDouble(facts.total_background_bytes - last_.total_background_bytes) / dt_s;
  throughput_s_ += dt_s;
  const bool settled = throughput_s_ > kThroughputSeconds;
  const double weight = settled ? SmoothingWeight(dt_s, kThroughputSeconds) : dt_s / throughput_s_;
  const double before = throughput_;
  throughput_ = std::max(kLeast, before + (newest - before) * weight);
  if (settled && before > 0) l0_drain_.Scale(throughput_ / before);
  throughput_bytes_ += newest * dt_s;
  if (!settled || throughput_bytes_ < kSpeakingBytes) return;
  const double fading = highest_throughput_ + (throughput_ - highest_throughput_) * SmoothingWeight(dt_s, kFadeSeconds);
  highest_throughput_ = std::max(throughput_, fading);
}

// An I/O limit says how fast the background may be. If disk and processor never come near the limit, the highest speed
// that was seen counts.
double LsmSignals::BackgroundBytesPerSecond() const {
  if (io_limit_ <= 0) return std::max(kLeast, compaction_.BytesPerSecond());
  return std::max(kLeast,
                  std::min(io_limit_, highest_throughput_ > 0 ? highest_throughput_ : kAssumedDiskBytesPerSecond));
}

// Returns the size in bytes, as the user wrote them, of a file that is made from full memtables.
double LsmSignals::FullL0FileBytes() const {
  return AsDouble(geometry_.write_buffer_bytes) * geometry_.buffers_per_flush;
}

// Returns the bytes, as the user wrote them, that bring a file into L0: fewer than a full file has if the program
// ingests small files, or if memtables are flushed before they are full. When ingested files of 2 MiB counted as full
// ones of 8, the loop braked four times too hard.
double LsmSignals::L0FileBytes() const { return FullL0FileBytes() * (l0_share_.value() > 0 ? l0_share_.value() : 1); }

// Returns half the time of an L0 compaction that has half of the disk's speed, plus the wait for a sample.
Duration LsmSignals::L0DeadTime() const {
  const double files = geometry_.l0_trigger + kTypicalLevel * (geometry_.L0FilesAtOne() - geometry_.l0_trigger);
  const uint64_t l1_bytes =
      geometry_.l1_size_varies ? std::min(geometry_.l1_bytes, l1_size_bytes_) : geometry_.l1_bytes;
  const double bytes = files * L0FileBytes() * table_per_user_ + AsDouble(l1_bytes);
  return AsTime(bytes / BackgroundBytesPerSecond()) + sample_interval_;
}

// The active memtable, and full ones that wait to be flushed together with others, are no backlog. The engine brakes
// when the other memtables reach the last buffer but one, if there are more than three buffers, or else when they reach
// the last. (If the active one counted, RocksDB's default of two buffers would be at 1.0 each time one is full.)
Signal LsmSignals::Memtables(const LsmFacts& facts) const {
  const int buffers = geometry_.brakes.max_write_buffers;
  const double buffer = AsDouble(geometry_.write_buffer_bytes);
  const double no_backlog = geometry_.buffers_per_flush * buffer;
  const double span = std::max(1, (buffers > 3 ? buffers - 1 : buffers) - geometry_.buffers_per_flush) * buffer;
  const double flush_s = no_backlog * disk_per_user_ / std::max(1.0, flush_drain_.BytesPerSecond());
  return {.name = "memtables",
          .level = std::max(0.0, AsDouble(facts.memtable_bytes) - no_backlog) / span,
          .bytes_per_level = span,
          .dead_time = AsTime(flush_s) + sample_interval_,
          .drain_bytes_per_second = flush_drain_.BytesPerSecond() / disk_per_user_,
          .shows_inflow_at_once = true};
}

// The engine brakes by the number of files, whatever their size, so a small file counts as a whole one; a file that was
// merged from several counts with its bytes, which are still to be compacted. Memtables count as the files that they
// will become: otherwise each flush would be a step.
Signal LsmSignals::L0(TimePoint now, const LsmFacts& facts) {
  const double file = FullL0FileBytes();
  if (facts.l0_files > 0 && facts.l0_bytes > 0) {
    const double mean = AsDouble(facts.l0_bytes) / table_per_user_ / AsDouble(facts.l0_files);
    l0_share_.Update(now, std::clamp(mean / file, kLeastL0Share, 1.0));
  }
  const double span_files = std::max(1.0, geometry_.L0FilesAtOne() - geometry_.l0_trigger);
  const double in_l0 = std::max(AsDouble(facts.l0_files) * file, AsDouble(facts.l0_bytes) / table_per_user_);
  // The compaction that works off a bulk load is no part of a cycle. If its peak were held like that of a cycle, bulk
  // work stood still for 15 s after it.
  after_load_ = after_load_ || !geometry_.compaction_brakes;
  if (after_load_ && geometry_.compaction_brakes && AsDouble(facts.l0_files) < geometry_.L0FilesAtOne()) {
    l0_envelope_ = DrainEnvelope({.gulp_bytes = GulpBytes(geometry_), .first_cycle = l0_envelope_.cycle()});
    after_load_ = false;
  }
  const double held = l0_envelope_.Update(now, in_l0 + AsDouble(facts.memtable_bytes));
  const double level = std::max(0.0, held / file - geometry_.l0_trigger) / span_files;
  return {.name = "l0",
          .level = geometry_.compaction_brakes ? level : 0,
          .bytes_per_level = geometry_.compaction_brakes ? span_files * L0FileBytes() : 0,
          .dead_time = L0DeadTime(),
          .drain_bytes_per_second = l0_drain_.BytesPerSecond() / table_per_user_,
          .shows_inflow_at_once = true};
}

// The score is only shown; no limit depends on it. L0 has its own signal (its score is 5 to 7 where its level is 1). A
// level below is compacted from a score of 1 on, so it has that score at any load, and a loop on it held the storm
// recipe at 2.6 MB/s of the 5.9 that it sustains. The backlog below L0 is in the debt.
Signal LsmSignals::Score(TimePoint now, const LsmFacts& facts) {
  return {.name = "score",
          .level = score_.Update(now, facts.deepest_score) / geometry_.score_threshold,
          .acts_on_writes = false};
}

// The level rises from 0 to 1.0 in three doublings, from an eighth of the debt at 1.0 to all of it. The debt that an
// incoming byte causes grows with the tree, so it is measured as the bytes that the background moves while one byte
// leaves L0.
Signal LsmSignals::Debt(TimePoint now, const LsmFacts& facts) {
  // RocksDB computes no debt with universal compaction.
  const bool brakes = geometry_.compaction_brakes && !geometry_.counts_runs && geometry_.brakes.soft_pending_bytes > 0;
  const double at_one = std::max(1.0, geometry_.DebtAtOne());
  const double doublings = std::log2(std::max(1.0, AsDouble(facts.pending_compaction_bytes)) / (at_one / 8));
  const double drain = l0_drain_.BytesPerSecond() / table_per_user_;
  const double background = highest_throughput_ > 0 ? throughput_ : BackgroundBytesPerSecond();
  const double owed_per_byte = std::max(1.0, background / std::max(kLeast, drain));
  return {.name = "debt",
          .level = debt_.Update(now, brakes ? std::max(0.0, doublings / 3) : 0),
          .bytes_per_level = brakes ? kDebtPerLevel * at_one / owed_per_byte : 0,
          .dead_time = L0DeadTime() + kCycleSmoothing,
          .drain_bytes_per_second = drain};
}

}  // namespace weir
