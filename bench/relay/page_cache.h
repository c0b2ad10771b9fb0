// Empties the kernel's page cache of a database, so that a relay reads its files from the disk.
#pragma once

#include <filesystem>

#include "config/status.h"

namespace weir {

// Writes all files below the directory to the disk and makes the kernel forget their contents. No program may have
// them mapped. Needs no privileges. Returns how many bytes are still in memory, because a file system may ignore the
// request; the disk and the host of a virtual machine may have caches of their own.
Result<uint64_t> DropFromPageCache(const std::filesystem::path& directory);

}  // namespace weir
