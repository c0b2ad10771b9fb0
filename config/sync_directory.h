#pragma once

#include <string>

namespace weir {

// The directory that `path` stands in: on some file systems a file's new name is on disk only when that is. Others know
// nothing of it, so it cannot fail.
void SyncDirectoryOf(const std::string& path);

}  // namespace weir
