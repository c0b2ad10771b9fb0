// The query for the figures of a MyRocks (MariaDB's RocksDB), and its answer. These functions need no connection.
//
// MyRocks tells RocksDB's counters of each level (information_schema.ROCKSDB_COMPACTION_STATS), the memtables
// (ROCKSDB_CFSTATS) and most options (ROCKSDB_CF_OPTIONS) of each column family. It tells neither the debt nor the
// limits of the debt: the debt is estimated as RocksDB itself does, and the limits are read from the text of
// rocksdb_default_cf_options.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/wire/mysql/mysql_session.h"
#include "monitors/lsm_counters.h"
#include "monitors/lsm_options.h"

namespace weir {

struct MyRocksFamily {
  LsmOptions options;
  double level_multiplier = 10;  // max_bytes_for_level_multiplier
  int num_levels = 7;
  RocksDbCounters counters;  // without the counts of stalls
  uint64_t immutable_memtables = 0;
  uint64_t filling_bytes = 0;  // bytes in the memtable that is being filled
  bool flushing = false;       // true if a flush runs or will start soon
  bool compacting = false;     // true if a compaction runs or will start soon
};

struct MyRocksFigures {
  std::map<std::string, MyRocksFamily> families;
  double user_bytes = 0;                 // bytes that the server has written to RocksDB
  double background_bytes = 0;           // bytes that flushes and compactions have written, running ones too
  double io_limit_bytes_per_second = 0;  // rocksdb_rate_limiter_bytes_per_sec; 0: none
  uint64_t brakes = 0;                   // how often RocksDB slowed down or stopped writes
};

// Its answer has rows of the column family (empty for the whole database), a name and a value.
std::string_view MyRocksQuestion();
// Returns an error if the rows are no answer to this question.
Result<MyRocksFigures> ReadMyRocksFigures(const std::vector<MysqlSession::Row>& rows);

// Returns the bytes that wait for compaction, by RocksDB's rule (VersionStorageInfo::EstimateCompactionBytesNeeded).
uint64_t EstimateDebt(const MyRocksFamily& family);

}  // namespace weir
