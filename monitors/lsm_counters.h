// The counters that RocksDB keeps of one column family. No function here calls RocksDB, so the counters can come from
// an open database (rocksdb_counters.h) or from its texts (rocksdb_text/stats_text.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct RocksDbLevel {
  double files = 0;
  double bytes = 0;
  double score = 0;  // compaction score: from 1.0 on RocksDB compacts the level
};

// The counters of one column family since it was opened, and its present levels.
struct RocksDbCounters {
  int base_level = 1;                // the level that L0 is compacted to
  double drained_from_l0_bytes = 0;  // bytes that went from L0 into the base level, rewritten or moved
  double base_level_bytes = 0;       // present size of the base level
  double flushed_table_bytes = 0;    // bytes on disk of flushed tables
  double flushed_bytes = 0;          // bytes on disk of flushed tables and blob files
  double compaction_written_bytes = 0;
  double flush_bytes_per_second = 0;  // mean speed of flushes, and of L0's own compactions; 0: none has ended
  double l0_files = 0;
  double l0_bytes = 0;
  std::vector<RocksDbLevel> levels;  // from L0 to the last level that has files
  double highest_score = 0;          // highest of the levels below L0; the score of L0 is 5 to 7 when `l0` is 1.0
  uint64_t slowdowns = 0;            // how often RocksDB slowed writes down
  uint64_t stops = 0;                // how often RocksDB stopped writes
  std::map<std::string, uint64_t> stall_causes;  // counts by RocksDB's name of the cause; causes with 0 are included
};

// Returns the counters from the map of the property "rocksdb.cfstats"; a counter that is missing there is 0.
RocksDbCounters ParseCounters(const std::map<std::string, std::string>& stats, int base_level);

// The counters of writes that were delayed or stopped, in the map of the property "rocksdb.cfstats". RocksDB has them
// as `key_since_8_1` from 8.1 on, and as io_stalls.<name> before. weir uses the older names, which dashboards and
// alerts know.
struct StallCounter {
  std::string_view name;
  std::string_view key_since_8_1;
};
inline constexpr StallCounter kStallCounters[] = {
    {"total_slowdown", "total-delays"},
    {"total_stop", "total-stops"},
    {"memtable_slowdown", "memtable-limit-delays"},
    {"memtable_compaction", "memtable-limit-stops"},
    {"level0_slowdown", "l0-file-count-limit-delays"},
    {"level0_numfiles", "l0-file-count-limit-stops"},
    {"level0_slowdown_with_compaction", "cf-l0-file-count-limit-delays-with-ongoing-compaction"},
    {"level0_numfiles_with_compaction", "cf-l0-file-count-limit-stops-with-ongoing-compaction"},
    {"slowdown_for_pending_compaction_bytes", "pending-compaction-bytes-delays"},
    {"stop_for_pending_compaction_bytes", "pending-compaction-bytes-stops"}};

// DiskRatio: the average number of bytes in flushed files for each byte that the program wrote. It is below 1 if
// compression or overwriting saves space. It is computed from RocksDB's own sums, so no file is read and it is right
// for any table format.
class DiskRatio {
 public:
  // The ratio is an average over the last 16 * `write_buffer_bytes` bytes, because the two sums come from counters that
  // are not read at the same moment.
  explicit DiskRatio(double write_buffer_bytes);
  // Adds the bytes that left the memtables since the last call: `user_bytes` as the program wrote them, `flushed_bytes`
  // as they are on disk. `user_bytes` may be a little below 0.
  void Update(double user_bytes, double flushed_bytes);
  double value() const;  // 1 at first; always between 0.0001 and 2

 private:
  double memory_bytes_;  // bytes over which the average is taken
  double user_bytes_;
  double flushed_bytes_;
};

}  // namespace weir
