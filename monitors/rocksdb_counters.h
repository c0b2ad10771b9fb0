// RocksDB's own counters, as numbers. To read them costs about 140 µs per column family under load (RocksDB writes a
// hundred strings), so it is done once a second, not at every sample.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/status.h"
#include "rocksdb/db.h"

namespace weir {

struct RocksDbLevel {
  double files = 0;
  double bytes = 0;
  double score = 0;
};

// The counters of one column family since it was opened.
struct RocksDbCounters {
  int base_level = 1;                // the level that L0 is compacted to
  double drained_from_l0_bytes = 0;  // into the base level, rewritten or moved
  double base_level_bytes = 0;
  double flushed_table_bytes = 0;  // in tables on disk
  double flushed_bytes = 0;        // in tables and blob files
  double compaction_written_bytes = 0;
  double l0_files = 0;
  double l0_bytes = 0;
  std::vector<RocksDbLevel> levels;  // from L0 on, to the last that has files
  double highest_score = 0;          // over the levels below L0: L0's own is 5 to 7 long before RocksDB brakes
  uint64_t slowdowns = 0;
  uint64_t stops = 0;
  std::map<std::string, uint64_t> stall_causes;  // by RocksDB's names, with causes that never occurred
};

Result<RocksDbCounters> ReadCounters(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* column_family);
// Reads them from the map of "rocksdb.cfstats".
RocksDbCounters ParseCounters(const std::map<std::string, std::string>& stats, int base_level);

// Returns the bytes that programs wrote to the database since it was opened, over all column families.
Result<double> ReadUserBytes(rocksdb::DB* db);

// Bytes of a flushed file for each byte that a program wrote: below 1 by compression and overwriting. The ratio comes
// from RocksDB's own sums, so no file is read and it is right for any table format.
class DiskRatio {
 public:
  // The two sums come from counters that are not read at the same moment, so the ratio looks back over many buffers.
  explicit DiskRatio(double write_buffer_bytes);
  // Adds the bytes that left the memtables since the last call, as they were written and as they were flushed.
  // `user_bytes` may be a little below 0.
  void Update(double user_bytes, double flushed_bytes);
  double value() const;  // starts at 1

 private:
  double memory_bytes_;
  double user_bytes_;
  double flushed_bytes_;
};

}  // namespace weir
