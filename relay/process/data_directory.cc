#include "relay/process/data_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "config/sync_directory.h"
#include "config/text/parse.h"

namespace weir {
namespace {

constexpr mode_t kOwnersAlone = 0700;
constexpr mode_t kOthers = 0077;

Status CannotMake(const std::string& data_dir, const std::string& why) {
  return Status::Error("cannot make the data directory " + Printable(data_dir) + ": " + why +
                       "; WEIR_DATA_DIR or --data-dir names another one");
}

}  // namespace

Status MakeDataDirectory(const std::string& data_dir, std::string* warning) {
  std::filesystem::path path(data_dir);
  if (!path.has_filename()) path = path.parent_path();
  if (path.has_parent_path()) {
    if (const std::error_code error = MakeDirectories(path.parent_path().string()); error)
      return CannotMake(data_dir, error.message());
  }
  if (mkdir(path.c_str(), kOwnersAlone) == 0) {
    SyncDirectoryOf(path.string());
    return {};
  }
  struct stat found {};
  if (errno != EEXIST) return CannotMake(data_dir, std::strerror(errno));
  if (stat(path.c_str(), &found) != 0) return CannotMake(data_dir, std::strerror(errno));
  if (!S_ISDIR(found.st_mode)) return CannotMake(data_dir, "it is a file");
  if (warning != nullptr && (found.st_mode & kOthers) != 0) {
    *warning = "other users of this machine may look into the data directory " + Printable(data_dir) +
               ", where direct messages are; `chmod go= " + Printable(data_dir) + "` keeps them out";
  }
  return {};
}

}  // namespace weir
