// LsmPlant: a model of a log-structured merge tree in a few state variables: memtables, L0, L1 and the levels below. At
// most one flush and one compaction run at a time and share the background bandwidth, as in RocksDB with two background
// jobs.
//
//   writes -> active memtable -> immutable ones -> L0 files -> L1 -> L2
//
//  * A full memtable becomes immutable. When there are as many immutable memtables as the geometry asks for, a flush
//    makes one L0 file of all of them.
//  * When L0 has as many files as the trigger, a compaction reads all L0 files and all of L1, and writes the result to
//    L1. The time that this takes is the dead time of the control.
//  * A level that is larger than its target size moves one file at a time to the next level, together with the files
//    that it overlaps there. When the last level is full, a level below it is added. One compaction runs at a time; the
//    level with the highest score goes first.
//  * The engine's own brakes delay and stop writes, with RocksDB's conditions and factors.
//
// LsmSignals turns its figures into signals, as it does for a real database.
#pragma once

#include <vector>

#include "bench/simulator/plant.h"
#include "monitors/lsm_signals.h"

namespace weir {

struct LsmPlantOptions {
  LsmGeometry geometry;

  // The speed at which one thread writes into a memtable. Measured with batches of 16 records: 78 MB/s until the
  // memtables are full.
  double insert_bytes_per_second = 78e6;
  // The memory that a byte of the user takes in a memtable (measured: a memtable of 4.19 MB holds 3.97 MB of the user).
  double memory_per_user_byte = 1.055;

  // The sizes of the levels from L2 on. The user has `distinct_bytes` of different data in all. The last level grows by
  // those bytes that it does not have yet; the other bytes that arrive there overwrite older ones. With these defaults
  // the last level does not grow.
  std::vector<double> lower_bytes = {70e6};
  double distinct_bytes = 70e6;
  // The measured cost of a compaction relative to one with mean overlap. RocksDB picks the files that overlap least.
  double overlap_share = 0.7;
  // Each compaction writes its bytes times a number between 1 - unevenness and 1 + unevenness, by chance, but the same
  // in each run.
  double unevenness = 0;
  uint64_t l0_files_at_start = 0;
  double l1_at_start_bytes = 0;

  // The share of the bandwidth that a flush gets while a compaction runs. A flush has priority (measured: a 4 MB flush
  // takes 0.15 to 0.27 s), except while the engine brakes (measured: 7 of 33 MB/s).
  double flush_share = 0.7;
  double flush_share_braking = 0.22;

  // The speeds between which delayed writes go. highest 0: that of the background.
  double lowest_delayed_bytes_per_second = 16 << 10;
  double highest_delayed_bytes_per_second = 0;

  // For the memory signal: the memory of everything except memtables, and the memory target.
  double other_memory_bytes = 250e6;
  double memory_target_bytes = 1400e6;
  Duration sample_interval = std::chrono::milliseconds(100);
};

class LsmPlant final : public Plant {
 public:
  explicit LsmPlant(const LsmPlantOptions& options, TimePoint start);

  void AdvanceTo(TimePoint now) override;
  TimePoint NextEvent() const override;
  double WriteBytesPerSecond() const override;
  void Write(double user_bytes) override;
  void SetBackground(double bytes_per_second) override { background_ = bytes_per_second; }
  void Sense(TimePoint now, LoadSample* sample) override;
  PlantView View() const override;

 private:
  enum class Brake { kNone, kDelayed, kStopped };

  struct Rates {
    double flush = 0;
    double compaction = 0;
  };

  Rates Share() const;
  void Progress(double seconds);
  void StartFlush();
  void EndFlush();
  void StartCompaction();
  void EndCompaction();

  bool compacting() const { return job_from_ >= 0; }
  double TargetOf(size_t level) const;  // level 0 is L1
  double Score(size_t level) const;
  double PendingBytes() const;
  Brake Condition(bool* near_stop) const;
  void UpdateBrakes();

  static constexpr int kNoJob = -1;

  const LsmPlantOptions options_;
  const double buffer_bytes_;
  const LsmBrakes brakes_;
  double background_;

  TimePoint now_;
  double active_bytes_ = 0;  // memory of the active memtable
  int immutable_ = 0;
  int flushing_ = 0;  // immutable memtables that the running flush writes
  double flush_left_ = 0;
  double flush_bytes_ = 0;

  uint64_t l0_files_ = 0;
  double l0_bytes_ = 0;
  std::vector<double> levels_;  // L1 and below; bytes
  int job_from_ = kNoJob;       // the level that the running compaction moves into the next
  double job_left_ = 0;
  double job_written_ = 0;
  uint64_t job_files_ = 0;
  uint32_t chance_ = 1;
  double job_bytes_ = 0;  // bytes that the compaction takes out of the upper level

  Brake brake_ = Brake::kNone;
  double delayed_rate_;
  double last_pending_ = 0;
  double stalled_s_ = 0;
  uint64_t escapes_ = 0;
  double total_flushed_ = 0;
  double total_drained_ = 0;
  double total_compacted_ = 0;
  double total_background_ = 0;  // includes the jobs that run

  LsmSignals signals_;
};

}  // namespace weir
