// LsmSignals: turns the raw facts of a log-structured engine (lsm_geometry.h) into signals (load_sample.h). The code
// calls no engine, so it can be used for RocksDB and for the simulated engine of bench/simulator.
//
// Not thread-safe. Each engine, or each column family of one, has an object of its own.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "monitors/drain_envelope.h"
#include "monitors/drain_meter.h"
#include "monitors/load_sample.h"
#include "monitors/lsm_geometry.h"
#include "monitors/smoothed.h"

namespace weir {

// The facts that the caller reads at each sample.
struct LsmFacts {
  uint64_t memtable_bytes = 0;  // all memtables; an immutable one counts as a whole write buffer
  int immutable_memtables = 0;  // full memtables that are not flushed yet
  uint64_t l0_files = 0;        // sorted runs if LsmGeometry::counts_runs is true
  uint64_t l0_bytes = 0;
  uint64_t pending_compaction_bytes = 0;
  uint64_t l1_size_bytes = 0;  // size of the level that L0 is compacted to; only used if l1_size_varies is true
  double deepest_score = 0;    // highest compaction score of the levels below L0
  bool flushing = false;       // true if a flush runs or will start soon
  bool compacting = false;     // true if a compaction runs or will start soon
  double background_bytes_per_second = 0;  // I/O limit of flushes and compactions; 0: as before
  double flush_bytes_per_second = 0;       // speed of flushes as the engine itself measured it; 0: not known

  // These are sums since any fixed moment; only their changes matter. An engine with several column families has one
  // sum for all, because the families share the threads that flush and compact.
  uint64_t total_flushed_bytes = 0;  // bytes written into L0 and its blob files
  uint64_t total_drained_bytes = 0;  // bytes taken out of L0; with sorted runs: the bytes of a flush for each run gone
  uint64_t total_compacted_bytes = 0;  // bytes written by compactions that have ended
  int64_t l1_bytes = 0;                // bytes in the level that L0 is compacted to; those of a last level do not count
  uint64_t total_background_bytes = 0;  // bytes written by flushes and compactions, running ones too; 0: not known

  double disk_bytes_per_user_byte = 1;   // bytes of flushed files for each byte that the program wrote
  double table_bytes_per_user_byte = 1;  // bytes of flushed tables (without blob files) for each such byte
};

class LsmSignals {
 public:
  LsmSignals(const LsmGeometry& geometry, Duration sample_interval);

  // Adds the signals memtables, l0, score and debt (rocksdb_monitor.h) to the sample. Score limits nothing. Neither
  // does l0 or debt if the engine never brakes for it: its level and its bytes_per_level are then 0. If the last call
  // was longer ago than 2 s and three sample intervals, the time since then does not count for the drain, and neither
  // do the bytes drained since then, the busy time before it that belongs to these bytes, and the compaction under way.
  void Update(TimePoint now, const LsmFacts& facts, LoadSample* sample);

  // Goes on with another geometry, after the engine's options were changed. What was measured so far stays.
  void SetGeometry(const LsmGeometry& geometry);

  // Returns how fast flushes and compactions write, in bytes on disk per second: as measured, or before the first
  // measurement an assumed speed; at most the I/O limit, if there is one.
  double BackgroundBytesPerSecond() const;
  // Returns the time between two compactions of L0, as measured, or before that an assumed time.
  Duration l0_cycle() const { return l0_envelope_.cycle(); }

 private:
  void Meter(Duration dt, const LsmFacts& facts);
  void PassOver(const LsmFacts& facts);
  void FollowThroughput(Duration dt, const LsmFacts& facts);
  Signal Memtables(const LsmFacts& facts) const;
  Signal L0(TimePoint now, const LsmFacts& facts);
  Signal Score(TimePoint now, const LsmFacts& facts);
  Signal Debt(TimePoint now, const LsmFacts& facts);
  double FullL0FileBytes() const;
  double L0FileBytes() const;
  Duration L0DeadTime() const;

  LsmGeometry geometry_;
  Duration sample_interval_;
  DrainEnvelope l0_envelope_;      // in bytes as the program wrote them
  Smoothed l0_share_;              // mean size of a file in L0, as a share of a full one; 0: not known
  bool after_load_ = false;        // L0 still has the backlog of a time without compactions
  DrainMeter l0_drain_;            // bytes on disk that leave L0
  double uncounted_s_ = 0;         // busy seconds not yet added to l0_drain_; below 0: it has too many
  DrainMeter flush_drain_;         // bytes on disk that enter L0
  DrainMeter compaction_;          // bytes on disk written by compactions
  double throughput_ = 0;          // bytes/s that flushes and compactions write while a compaction runs
  double throughput_s_ = 0;        // time over which throughput_ was measured
  double throughput_bytes_ = 0;    // bytes over which throughput_ was measured
  double highest_throughput_ = 0;  // highest throughput_ of the last minutes; 0: not known
  Smoothed score_;
  Smoothed debt_;
  double io_limit_;
  uint64_t l1_size_bytes_ = 0;  // size of the level that L0 is compacted to
  double disk_per_user_ = 1;
  double table_per_user_ = 1;
  bool started_ = false;
  TimePoint last_time_{};
  LsmFacts last_;
};

}  // namespace weir
