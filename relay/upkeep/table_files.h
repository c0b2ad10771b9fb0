// Files of a database in a backup: copies them, and recognises tables that an earlier backup has already.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/status.h"

namespace weir {

// Called after each piece of a file that was copied, with its bytes. It may wait. An error ends the copying.
using AfterPiece = std::function<Status(uint64_t bytes)>;

// Returns true if both are the same table of RocksDB: equally long, and with the same last 16 KiB. These have the
// table's properties, among them the id of the session that wrote it and its number there. So two tables that
// databases wrote after one was restored from a backup of the other differ, even if they have the same number and size.
// Returns false if a file cannot be read.
bool IsSameTable(const std::string& a, const std::string& b);

// Copies the file in pieces, and returns when the copy is on disk. `to` appears under its name only then; until then,
// and after a kill, it is TO.part. Writes each piece to the disk before the next, so that no mass of unwritten pages
// delays the syncs of a database on the same disk, and keeps the copy out of the system's cache.
//
// The copy belongs to the owner of `model`, if root makes it. So returns an error if `from` is no file that this owner
// may read: an intruder in the relay's process could put a link there to a file that only root may read.
Status CopyFile(const std::string& from, const std::string& to, const std::string& model,
                const AfterPiece& after_piece);

// Makes a hard link `to` for the file `from`. Returns false if that is not possible.
bool LinkFile(const std::string& from, const std::string& to);

}  // namespace weir
