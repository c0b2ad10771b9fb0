#pragma once

#include <string>
#include <system_error>

namespace weir {

// Syncs the directory that `path` stands in: on some file systems a file's new name is on disk only then. Other file
// systems cannot do it, so a failure is ignored.
void SyncDirectoryOf(const std::string& path);

// Makes the directory and those above it that are missing, and syncs the name of each that it makes.
std::error_code MakeDirectories(const std::string& path);

}  // namespace weir
