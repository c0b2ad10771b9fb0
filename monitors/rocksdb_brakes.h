// The brakes of an open database (lsm_geometry.h), and how to move them, by DB::SetOptions.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "config/status.h"
#include "monitors/lsm_geometry.h"
#include "rocksdb/db.h"

namespace weir {

// Returns true if the database was opened read-only or as a secondary instance. RocksDB lets SetOptions write to it
// even then.
bool IsReadOnly(rocksdb::DB* db);

// The brakes for L0 and debt at figures that are never reached. The memtables' brake stays at that of `brakes`.
LsmBrakes LiftedBrakes(LsmBrakes brakes);

// Options to be changed, by their names.
using OptionChanges = std::unordered_map<std::string, std::string>;
using FamilyChanges = std::unordered_map<rocksdb::ColumnFamilyHandle*, OptionChanges>;

// Returns these brakes as a column family with these options can have them: those for L0 never below the compaction
// trigger, and a limit of the debt that is disabled stays disabled.
LsmBrakes FitTo(const rocksdb::ColumnFamilyOptions& now, LsmBrakes brakes);
// Returns the changes that put the brakes of a column family with these options where `brakes` has them; none if they
// are there.
OptionChanges ChangesTo(const LsmBrakes& brakes, const rocksdb::ColumnFamilyOptions& now);

// Makes these changes of the options of an open database; each family must have some. RocksDB makes them in its queue
// of writers, and then writes a file of options, which takes some milliseconds: one for all families if it has a call
// for that, as 11.8 has, otherwise one for each. Does nothing for a database that is read-only and for a family that
// was dropped. Returns RocksDB's last error, with the name of the family; the other families are changed even then.
Status ChangeOptions(rocksdb::DB* db, const FamilyChanges& changes);

}  // namespace weir
