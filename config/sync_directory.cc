#include "config/sync_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace weir {

void SyncDirectoryOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int directory = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  (void)fsync(directory);
  close(directory);
}

}  // namespace weir
