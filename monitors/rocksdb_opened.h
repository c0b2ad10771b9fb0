// CheckOpened: compares a database that was opened with what was prepared for it, before a monitor is attached to it.
// Without it, a mistake would show only under load: for example, a column family without its handle is not limited,
// although its brakes were moved.
#pragma once

#include <vector>

#include "config/status.h"
#include "monitors/rocksdb_options.h"

namespace weir {

// Returns an error that names the mistake and the remedy if the database or a handle is null, a handle belongs to
// another database, a column family has no compaction (CheckCompaction), or the memory target is 0. If `prepared` is
// not null, also returns an error if the database or a family was opened with other options than those prepared, or if
// the handle of a family that was opened with prepared options is missing. Reads the names of the families, and the
// options that RocksDB stored, from disk.
Status CheckOpened(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles,
                   const PreparedRocksDb* prepared, uint64_t target_bytes);

}  // namespace weir
