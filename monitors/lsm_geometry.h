// What does not change while a log-structured engine is open: how large its parts are, where it brakes, and what both
// become when weir opens it. No engine in here, so that a simulated one is prepared by the same rules as RocksDB.
#pragma once

#include <cstdint>

namespace weir {

struct LsmGeometry {
  uint64_t write_buffer_bytes = 64 << 20;
  int max_write_buffers = 2;
  int buffers_per_flush = 1;  // memtables that the engine waits for before it makes one file of them
  int l0_trigger = 4;
  int l0_slowdown = 20;
  int l0_stop = 36;
  uint64_t l1_bytes = 256ull << 20;  // that a compaction of L0 rewrites; 0: none
  // Universal compaction: trigger and brakes count sorted runs, the files of L0 and each level below that is not empty.
  bool counts_runs = false;
  uint64_t soft_pending_bytes = 64ull << 30;  // 0: the engine does not brake for debt
  uint64_t hard_pending_bytes = 256ull << 30;
  // The engine's own brakes stand further out than the figures above, which are those of the program's options.
  bool brakes_moved = false;
  bool compaction_brakes = true;           // false: the engine does not compact by itself, nor brake for L0 or debt
  double background_bytes_per_second = 0;  // its I/O limit; 0: none, then it is measured
  double score_threshold = 1.5;

  bool operator==(const LsmGeometry&) const = default;

  // What a level of 1.0 means: where the engine begins to brake; where its brakes were moved, the middle between the
  // old slowdown and the old stop. At the setpoint of bulk work the engine is then where it used to begin to brake,
  // less than where overload keeps it by itself. The deeper L0, the less its compactions rewrite: in the storm recipe
  // bulk work does 6.3 MB/s with 9.6 files at the setpoint, 7.8 with 12, and no more than it owes with 16.
  double L0FilesAtOne() const;
  // Debt is what it costs to reach the shape that the engine wants, and no harm before the engine brakes for it. As a
  // tree grows it owes more for each byte in it: with 1.0 at the middle of the old limits, ten minutes of a simulated
  // tree that grows were limited by debt for 85 % of the time, with L0 nearly empty, and did 17 % less than the best
  // fixed rate.
  double DebtAtOne() const;
};

// Where the brakes of an engine with brakes_moved really are: slowdown and stop by twice the span from trigger to
// slowdown further out (12, 20 become 28, 36 with trigger 4), the limits of debt by 8, two more write buffers. Left in
// place, the same controller still stalled for 23 s of 60.
struct LsmBrakes {
  int max_write_buffers;
  int l0_slowdown;
  int l0_stop;
  uint64_t soft_pending_bytes;
  uint64_t hard_pending_bytes;
};
LsmBrakes BrakesOf(const LsmGeometry& geometry);

// The geometry that weir opens an engine with: its brakes moved, and files in L0 that match L1.
//
// L0 is compacted together with all of L1, so where it is much smaller than L1 when its compaction begins, most of the
// work rewrites L1. Where only one is flushed at a time, as many buffers are flushed together as make L0 about as large
// as L1 (RocksDB's own advice), at most half of the buffers; those that wait for the others come on top. In the storm
// recipe two: bulk work of 5.2 becomes 6.7 MB/s, with fewer files in L0. RocksDB's defaults match already.
LsmGeometry PreparedGeometry(LsmGeometry given);

}  // namespace weir
