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

std::error_code MakeDirectories(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty() && parent != path && !fs::exists(parent, error)) error = MakeDirectories(parent.string());
  if (!error && fs::create_directory(path, error)) SyncDirectoryOf(path);
  return error;
}

}  // namespace weir
