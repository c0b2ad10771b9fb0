// The geometry of an engine with a log-structured merge tree (LSM), such as RocksDB: the sizes of its parts and the
// points at which it brakes. This file also decides how weir changes these sizes and points before the engine is
// opened. The code calls no engine, so it can also prepare the simulated engine of bench/simulator.
//
// Writes fill memtables in memory; a flush makes files of them in level 0 (L0), and compactions move these down the
// tree. "Debt" is the bytes that wait for compaction.
#pragma once

#include <cstdint>
#include <limits>

namespace weir {

// The figures at which an engine brakes.
struct LsmBrakes {
  int max_write_buffers = 2;
  int l0_slowdown = 20;                        // files in L0 at which the engine slows writes down
  int l0_stop = 36;                            // files in L0 at which the engine stops writes
  uint64_t soft_pending_bytes = 64ull << 30;   // debt at which writes slow down; 0: the engine does not brake for debt
  uint64_t hard_pending_bytes = 256ull << 30;  // debt at which writes stop

  bool operator==(const LsmBrakes&) const = default;
};

struct LsmGeometry {
  uint64_t write_buffer_bytes = 64 << 20;
  int buffers_per_flush = 1;         // full memtables that a flush merges into one file
  int l0_trigger = 4;                // files in L0 at which the engine compacts it
  uint64_t l1_bytes = 256ull << 20;  // size of the level that a compaction of L0 rewrites; 0: none
  // True if that level may be smaller, because its size follows from the data below it (dynamic level sizes).
  bool l1_size_varies = false;
  // True with universal compaction: trigger and brakes then count sorted runs, which are the files of L0 and each lower
  // level that is not empty.
  bool counts_runs = false;
  LsmBrakes brakes;  // the figures in the program's options
  // True if the engine brakes at higher figures (BrakesOf) than `brakes`.
  bool brakes_moved = false;
  bool compaction_brakes = true;           // false: the engine neither compacts by itself nor brakes for L0 or debt
  double background_bytes_per_second = 0;  // I/O limit of flushes and compactions; 0: none, the speed is measured
  double score_threshold = 1.5;            // compaction score at which the signal `score` is 1.0

  bool operator==(const LsmGeometry&) const = default;

  // Returns false if no number of files in L0 makes the engine brake: with FIFO compaction, L0 is the whole tree.
  bool BrakesForL0Files() const { return brakes.l0_slowdown < std::numeric_limits<int>::max(); }

  // Returns the number of files in L0 at which the signal `l0` is 1.0: l0_slowdown, or, if the brakes were moved, the
  // middle between l0_slowdown and l0_stop, but at most as far beyond l0_slowdown as l0_slowdown is beyond l0_trigger.
  // So at the setpoint of bulk work, L0 has about as many files as the old l0_slowdown. The more files L0 has, the
  // fewer bytes its compactions rewrite for each file: in the storm recipe (bench/storm) bulk work does 6.3 MB/s with
  // 9.6 files at the setpoint, and 7.8 MB/s with 12.
  double L0FilesAtOne() const;
  // Returns the debt in bytes at which the signal `debt` is 1.0: the debt at which the engine really brakes (BrakesOf).
  // Debt does no harm before the engine brakes for it, and a larger tree has more debt for each byte in it. When 1.0
  // was at the middle of the limits in the program's options, debt limited a growing simulated tree for 85 % of ten
  // minutes, although L0 was nearly empty, and bulk work did 17 % less than at the best fixed rate.
  double DebtAtOne() const;
};

// Returns the figures at which an engine really brakes. If brakes_moved is true, l0_slowdown and l0_stop are higher by
// twice the distance from l0_trigger to l0_slowdown (with trigger 4, 12 and 20 become 28 and 36), the limits of debt
// are eight times as high, and there are two more write buffers. With the brakes left in place, writes still stalled
// for 23 s of 60 under the same controller.
LsmBrakes BrakesOf(const LsmGeometry& geometry);

// Returns the geometry that weir gives an engine before it is opened: with its brakes moved, and with flushes that make
// L0 match L1. A flush merges at most `most_per_flush` buffers, unless `given` merges more.
//
// L0 is compacted together with all of L1. If L0 is much smaller than L1 when its compaction begins, most of the work
// rewrites L1. So if `given` flushes one buffer at a time, the result flushes as many together as make L0 about as
// large as L1 (RocksDB's own advice), but at most half of the buffers. With universal compaction, which has no L1, it
// is always half of the buffers. The engine gets one more buffer for each that waits to be flushed with others. In the
// storm recipe (the usual engine of bench/storm) two buffers are flushed together: bulk work rises from 5.2 to 6.7
// MB/s, with fewer files in L0. RocksDB's defaults match already.
LsmGeometry PreparedGeometry(LsmGeometry given, int most_per_flush = std::numeric_limits<int>::max());

}  // namespace weir
