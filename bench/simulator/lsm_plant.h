// A log-structured engine in a few state variables: memtables, L0, L1 and the levels below. One flush and one
// compaction at a time share the background bandwidth, as in RocksDB with two background jobs.
//
//   writes -> active memtable -> immutable ones -> L0 files -> L1 -> L2
//
//  * A full memtable becomes immutable; a flush takes all immutable ones together and makes one L0 file of them, as
//    soon as there are as many as the geometry wants.
//  * From the trigger on, an L0 compaction takes all L0 files and all of L1, and writes both. Its length is its dead
//    time.
//  * A level above its size is moved down a file at a time, each with the files that it meets in the next; the last one
//    grows a level below it when it is full. L0 or the level with the highest score goes first, one at a time.
//  * The engine's own brakes: delayed and stopped writes with RocksDB's conditions and factors.
//
// Its figures go through LsmSignals, like a real database's.
#pragma once

#include <vector>

#include "bench/simulator/plant.h"
#include "monitors/lsm_signals.h"

namespace weir {

struct LsmPlantOptions {
  LsmGeometry geometry;

  // The speed of one write thread into a memtable; measured with 16-record batches: 78 MB/s until the memtables are
  // full.
  double insert_bytes_per_second = 78e6;
  // A memtable holds less than its size in user bytes (measured: 3.97 MB of 4.19).
  double memory_per_user_byte = 1.055;

  // The levels from L2 on. The last grows by bytes that the user had not stored yet, of `distinct_bytes` in all; other
  // bytes that arrive there overwrite. With these defaults it stands still.
  std::vector<double> lower_bytes = {70e6};
  double distinct_bytes = 70e6;
  // RocksDB picks the files that overlap least: their measured cost relative to the mean overlap.
  double overlap_share = 0.7;
  uint64_t l0_files_at_start = 0;
  double l1_at_start_bytes = 0;

  // The share of the bandwidth for a flush that meets a compaction. A flush has priority (measured: a 4 MB flush takes
  // 0.15 to 0.27 s), but not while the engine brakes, when RocksDB gives both the same (measured: 7 of 33 MB/s).
  double flush_share = 0.7;
  double flush_share_braking = 0.22;

  // For the memory signal: everything but memtables, and the target.
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
  double TargetOf(size_t level) const;  // from L1, which is 0
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
  int flushing_ = 0;  // how many of the immutable ones
  double flush_left_ = 0;
  double flush_bytes_ = 0;

  uint64_t l0_files_ = 0;
  double l0_bytes_ = 0;
  std::vector<double> levels_;  // L1 and below; bytes
  int job_from_ = kNoJob;       // the level that is compacted into the next
  double job_left_ = 0;
  double job_written_ = 0;
  uint64_t job_files_ = 0;
  double job_bytes_ = 0;  // taken out of the upper level

  Brake brake_ = Brake::kNone;
  double delayed_rate_;
  double last_pending_ = 0;
  double stalled_s_ = 0;
  uint64_t escapes_ = 0;
  double total_flushed_ = 0;
  double total_drained_ = 0;
  double total_compacted_ = 0;
  double total_background_ = 0;  // with the work that runs

  LsmSignals signals_;
};

}  // namespace weir
