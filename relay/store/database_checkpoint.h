// Copies of a database's files that form a whole database. The tables are hard links to those of the database, so a
// checkpoint takes hardly any time or room. While it exists, tables that the database needs no more keep their room.
#pragma once

#include <string>

#include "config/status.h"
#include "rocksdb/db.h"

namespace weir {

// Makes the directory `directory`, an absolute path, with a checkpoint of the open database as it is now. Any thread
// may call it, whatever writes meanwhile. Returns an error if the directory exists.
Status MakeCheckpoint(rocksdb::DB* db, const std::string& directory);

// Does the same for the database in `path`, which no process has open. The caller holds its lock file.
Status MakeCheckpointOfClosed(const std::string& path, const std::string& directory);

// Removes a checkpoint and what an interrupted call has left of one.
Status RemoveCheckpoint(const std::string& directory);

}  // namespace weir
