// SetBrakes: moves the brakes of an open column family (lsm_geometry.h), by DB::SetOptions.
#pragma once

#include "config/status.h"
#include "monitors/lsm_geometry.h"
#include "rocksdb/db.h"

namespace weir {

// Returns true if the database was opened read-only or as a secondary instance. RocksDB lets SetOptions write to it
// even then.
bool IsReadOnly(rocksdb::DB* db);

// The brakes for L0 and debt at figures that are never reached. The memtables' brake stays at that of `brakes`.
LsmBrakes LiftedBrakes(LsmBrakes brakes);

// Puts the brakes of the column family where `brakes` has them, but those for L0 never below the compaction trigger. A
// limit of the debt that is disabled stays disabled.
// Calls RocksDB only if a figure differs: RocksDB then writes a file of options, which takes some milliseconds. Does
// nothing for a database that is read-only and for a family that was dropped. Returns RocksDB's error, with the name of
// the family.
Status SetBrakes(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const LsmBrakes& brakes);

}  // namespace weir
