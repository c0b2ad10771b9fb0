// The snapshot: the file that keeps the records of authors over a restart. It is replaced as a whole, and ends with the
// SHA-256 of its content, so a damaged file is recognised.
//
//   "weir standing 1\n" | { key 32 | record 28 } … | SHA-256 32
//
// The numbers are sizes in bytes. The numbers in a record are little-endian, in the order of AuthorRecord's members;
// the last two bytes are 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/standing/author_table.h"

namespace weir {

// Writes the file in pieces, so it needs little memory. The error says what failed, and the old file is unchanged.
Status WriteSnapshot(const std::string& path, AuthorTable& table);
// Adds the records in `bytes`, the content of the file, to the table. Returns an error, and adds nothing, if it is
// damaged. The error completes a sentence that begins with the name of the file.
Status ReadSnapshot(std::string_view bytes, uint64_t now_seconds, AuthorTable* table);

}  // namespace weir
