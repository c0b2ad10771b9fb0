// Turns the raw facts of a log-structured engine into the signals that the throttle acts on: what a level means in
// bytes, how a sawtooth becomes an envelope, how much the engine drains while it is busy. This file needs no engine, so
// a simulated one is sensed by the same code as RocksDB.
//
// Not thread-safe; one object per engine or column family, fed by its sampling.
#pragma once

#include <cstdint>

#include "config/clock.h"
#include "monitors/drain_envelope.h"
#include "monitors/drain_meter.h"
#include "monitors/load_sample.h"
#include "monitors/lsm_geometry.h"
#include "monitors/smoothed.h"

namespace weir {

// The facts that are read at each sample.
struct LsmFacts {
  uint64_t memtable_bytes = 0;  // each immutable memtable counts as a whole write buffer, as the engine counts them
  int immutable_memtables = 0;
  uint64_t l0_files = 0;  // or sorted runs, if the geometry counts them
  uint64_t l0_bytes = 0;
  uint64_t pending_compaction_bytes = 0;
  double deepest_score = 0;  // highest compaction score of the levels below L0
  bool flushing = false;     // a flush runs, or is about to
  bool compacting = false;
  double background_bytes_per_second = 0;  // the present I/O limit; 0: the geometry's

  // Cumulative figures. An engine with several column families has one sum for all: they share one background.
  uint64_t total_flushed_bytes = 0;      // written into L0 and its blob files
  uint64_t total_drained_bytes = 0;      // taken out of L0; for each sorted run that is gone, one flush
  uint64_t total_compacted_bytes = 0;    // written by compactions
  int64_t l1_bytes = 0;                  // in the level that L0 is compacted to; only its changes count
  uint64_t total_background_bytes = 0;   // written by flushes and compactions, running ones too; 0: not known
  double disk_bytes_per_user_byte = 1;   // in flushed files: compression and overhead
  double table_bytes_per_user_byte = 1;  // the part of it in tables, which make up L0: not in blob files
};

class LsmSignals {
 public:
  LsmSignals(const LsmGeometry& geometry, Duration sample_interval);

  // Adds memtables, l0, score and debt to the sample; all but score act, with their geometry.
  void Update(TimePoint now, const LsmFacts& facts, LoadSample* sample);

  // The figures behind the signals, for displays; in bytes on disk.
  double BackgroundBytesPerSecond() const;
  Duration l0_cycle() const { return l0_envelope_.cycle(); }

 private:
  void Meter(Duration dt, const LsmFacts& facts);
  void FollowThroughput(Duration dt, const LsmFacts& facts);
  Signal Memtables(const LsmFacts& facts) const;
  Signal L0(TimePoint now, const LsmFacts& facts);
  Signal Score(TimePoint now, const LsmFacts& facts);
  Signal Debt(TimePoint now, const LsmFacts& facts);
  double L0FileBytes() const;
  Duration L0DeadTime() const;

  const LsmGeometry geometry_;
  const Duration sample_interval_;
  DrainEnvelope l0_envelope_;      // in bytes as the user wrote them
  DrainMeter l0_drain_;            // bytes on disk out of L0
  double uncounted_s_ = 0;         // background work not yet told to l0_drain_; below 0: told in advance
  DrainMeter flush_drain_;         // bytes on disk into L0
  DrainMeter compaction_;          // bytes on disk written by compactions
  double throughput_ = 0;          // bytes/s that the background writes while it compacts
  double throughput_s_ = 0;        // time over which it was measured
  double throughput_bytes_ = 0;    // bytes over which it was measured
  double highest_throughput_ = 0;  // lately; 0: not known
  Smoothed score_;
  Smoothed debt_;
  double io_limit_;
  double disk_per_user_ = 1;
  double table_per_user_ = 1;
  bool started_ = false;
  TimePoint last_time_{};
  LsmFacts last_;
};

}  // namespace weir
