// LsmEngine: makes signals from the figures of a log-structured engine with column families. A probe reads the figures,
// in whatever way it can, and gives them to this class.
//
// The families share the threads that flush and compact, so what is drained is counted for all together, and each has
// signals of its own (lsm_signals.h), of which the highest count.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "monitors/lsm_counters.h"
#include "monitors/lsm_signals.h"
#include "monitors/write_burst.h"

namespace weir {

// A column family, as the engine knows it. The probe owns it, and sets the geometry.
struct LsmFamily {
  LsmFamily(const LsmGeometry& opened, Duration sample_interval)
      : geometry(opened),
        signals(opened, sample_interval),
        table_share(static_cast<double>(opened.write_buffer_bytes)) {}

  LsmGeometry geometry;
  LsmSignals signals;              // must get the geometry when it changes
  LsmFacts facts;                  // describe this family; LsmEngine adds the sums over all families to a copy
  uint64_t filling_bytes = 0;      // bytes in the memtable that is being filled
  bool counted = false;            // true after the first counters
  RocksDbCounters counters;        // the last ones
  uint64_t counted_memtables = 0;  // bytes in memtables at that time
  DiskRatio table_share;           // share of flushed bytes that is in tables; the rest is in blob files
};

// The figures of a family that are read at every sample.
struct LsmReading {
  uint64_t l0_files = 0;
  uint64_t runs_below_l0 = 0;  // levels below L0 that are not empty; only used if the geometry counts runs
  uint64_t immutable_memtables = 0;
  uint64_t active_memtable_bytes = 0;
  uint64_t pending_compaction_bytes = 0;
  bool flush_pending = false;
  bool compaction_pending = false;
};

class LsmEngine {
 public:
  // Sets the families, in the order in which the other functions name them. Call it before all others, and again when
  // families came, went or moved in memory.
  void SetFamilies(std::vector<LsmFamily*> families);
  // Must be called when the size of a family's write buffers changed.
  void BuffersChanged();

  // At each sample, what runs is taken first, then the reading of each family. If the engine rests, both may be left
  // out.
  void TakeRunning(bool compacting, bool flushing);
  void Take(size_t family, const LsmReading& reading);
  // Return true if compactions (flushes) run, or will start soon.
  bool compacting() const { return sums_.compacting; }
  bool flushing() const { return sums_.flushing; }

  // The counters are expensive, so they are taken once a second, or after 300 ms if L0 has changed: the drain then
  // counts with the busy time to which it belongs. Returns true if they are due.
  bool CountersAreDue(TimePoint now) const;
  // Notes that the counters were due and nothing can have changed in them.
  void PassCounters(TimePoint now) { last_counters_ = now; }
  // Takes the counters of all families, and the bytes that the program has written to them. `has_level_below` tells of
  // each family whether its base level is not the last one.
  void TakeCounters(TimePoint now, double user_bytes, std::vector<RocksDbCounters> counters,
                    const std::vector<bool>& has_level_below);
  // Returns by how much RocksDB's count of slowdowns and stops has grown since the first counters.
  uint64_t counted_brakes() const { return counted_brakes_; }
  double disk_bytes_per_user_byte() const { return disk_ratio_.value(); }

  // Adds the signals of all families, and the burst. The two figures are those of an I/O limiter of the engine; 0 if
  // there is none.
  void AddSignals(TimePoint now, double background_bytes_per_second, uint64_t total_background_bytes,
                  LoadSample* sample);

 private:
  void TakeCountersOf(size_t family, RocksDbCounters counters, bool has_level_below);

  std::vector<LsmFamily*> families_;
  WriteBurst burst_{{}};
  DiskRatio disk_ratio_{0};
  LsmFacts sums_;              // sums over the families; the cumulative ones begin with the first sample
  double user_bytes_ = 0;      // RocksDB's count of the bytes that the program wrote
  double left_memtables_ = 0;  // the bytes of the program that left the memtables, up to a constant
  bool l0_changed_ = false;    // true if L0 lost files or got several flushes since the last counters
  uint64_t last_brakes_ = 0;   // RocksDB's count of slowdowns and stops
  uint64_t counted_brakes_ = 0;
  TimePoint last_counters_{};
  bool started_ = false;       // false until the first counters
  bool has_counters_ = false;  // false until the first counters, and after SetFamilies
};

}  // namespace weir
