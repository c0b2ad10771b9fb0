// The geometry of a log-structured engine, which does not change while it is open: the sizes of its parts, the points
// at which it brakes, and the change of both when weir opens it. This file needs no engine, so a simulated one is
// prepared by the same rules as RocksDB.
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
  uint64_t l1_bytes = 256ull << 20;  // size of the level that a compaction of L0 rewrites; 0: none
  // Universal compaction: trigger and brakes count sorted runs, the files of L0 and each level below that is not empty.
  bool counts_runs = false;
  uint64_t soft_pending_bytes = 64ull << 30;  // 0: the engine does not brake for debt
  uint64_t hard_pending_bytes = 256ull << 30;
  // The engine's own brakes stand further out than the figures above, which are from the program's options.
  bool brakes_moved = false;
  bool compaction_brakes = true;           // false: the engine neither compacts by itself nor brakes for L0 or debt
  double background_bytes_per_second = 0;  // the engine's I/O limit; 0: none, and the speed is measured
  double score_threshold = 1.5;

  bool operator==(const LsmGeometry&) const = default;

  // The files in L0 at a level of 1.0. The engine begins to brake there, or, if its brakes were moved, it is the middle
  // between the old slowdown and the old stop. At the setpoint of bulk work the engine is then where it used to begin
  // to brake, below the point where overload keeps it by itself. The deeper L0, the less its compactions rewrite: in
  // the storm recipe bulk work does 6.3 MB/s with 9.6 files at the setpoint, 7.8 with 12, and no more than it owes
  // with 16.
  double L0FilesAtOne() const;
  // The debt at a level of 1.0. Debt is the work that is left to reach the shape that the engine wants, and does no
  // harm before the engine brakes for it. As a tree grows it owes more for each byte in it: with 1.0 at the middle of
  // the old limits, ten minutes of a simulated tree that grows were limited by debt for 85 % of the time, with L0
  // nearly empty, and did 17 % less than the best fixed rate.
  double DebtAtOne() const;
};

// The real brakes of an engine. With brakes_moved slowdown and stop are further out by twice the span from trigger to
// slowdown (12, 20 become 28, 36 with trigger 4), the limits of debt are eight times as high, and there are two more
// write buffers. With brakes left in place the same controller still stalled for 23 s of 60.
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
// L0 is compacted together with all of L1, so if it is much smaller than L1 when its compaction begins, most of the
// work rewrites L1. If only one buffer is flushed at a time, as many are flushed together from now on as make L0 about
// as large as L1 (RocksDB's own advice), at most half of the buffers; the engine gets as many more buffers as wait for
// the others. In the storm recipe these are two: bulk work of 5.2 becomes 6.7 MB/s, with fewer files in L0. RocksDB's
// defaults match already.
LsmGeometry PreparedGeometry(LsmGeometry given);

}  // namespace weir
