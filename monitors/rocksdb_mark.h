// The mark that PrepareRocksDb leaves in the options of a column family. It holds each option that weir moved: as the
// program had set it, and as weir has set it.
//
// RocksDB stores the options of a database, the moved ones too, and a program may load them (LoadLatestOptions) and
// prepare them again. Without the mark, each start would move the brakes further: a slowdown at 12 files became one at
// 28, 76, 220 and 652.
//
// The mark stands in max_bytes_for_level_multiplier_additional, after the elements for the levels that exist. RocksDB
// stores this list as it is, and reads only the elements of existing levels.
#pragma once

#include "rocksdb/options.h"

namespace weir {

// Writes a mark into `moved`. `given` are the same options before weir moved them; they must have no mark. `resting`
// are the options that the open database has when no limiter runs: the brakes are where `given` has them, but flushes
// still merge memtables, which needs more buffers.
void MarkMoved(const rocksdb::ColumnFamilyOptions& given, const rocksdb::ColumnFamilyOptions& resting,
               rocksdb::ColumnFamilyOptions* moved);

// Returns true if the options have a mark.
bool IsMarked(const rocksdb::ColumnFamilyOptions& options);

// Removes the mark and takes weir's changes back: an option that has a value that weir set (moved, resting, or brakes
// for L0 and debt that are all out of reach) gets the program's value; an option that was changed since then keeps its
// value. Returns false, and changes nothing, if there is no mark.
bool TakeBack(rocksdb::ColumnFamilyOptions* options);

}  // namespace weir
