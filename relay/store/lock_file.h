// LockFile: the lock of a database's directory.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "config/held_file.h"
#include "config/status.h"

namespace weir {

// Returns the process that has the directory; null if none has it.
std::optional<LockHolder> HolderOf(const std::string& directory);
// Returns true if `process` is a process of this machine that has the directory's lock file open. The number in a file
// may be from another namespace, or of a process that came later. Returns false also if this user may not see that.
bool HasLockOpen(int process, const std::string& directory);

class LockFile {
 public:
  LockFile() = default;
  // The error names the holder: "data/events is in use by process 1234 (weir relay)".
  // `address` is for others on this machine that would rather ask the holder than wait.
  static Result<LockFile> Take(const std::string& directory, const std::string& address = "");
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

  static constexpr const char* kName = "weir.lock";

 private:
  HeldFile file_;
};

}  // namespace weir
