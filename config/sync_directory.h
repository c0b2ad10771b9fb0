// Makes new names of files and directories durable.
#pragma once

#include <string>
#include <system_error>

namespace weir {

// Syncs the directory that contains `path`. On some file systems the new name of a file is on disk only after this
// call; others cannot sync a directory, so a failure is ignored.
void SyncDirectoryOf(const std::string& path);

// Creates the directory and the missing directories above it, and syncs the name of each directory that it creates.
// Returns success if `path` is a directory already, and an error if a directory cannot be created.
std::error_code MakeDirectories(const std::string& path);

}  // namespace weir
