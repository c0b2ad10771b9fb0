// The lock of a database's directory.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "config/held_file.h"
#include "config/status.h"

namespace weir {

// Nothing where nobody has the directory.
std::optional<LockHolder> HolderOf(const std::string& directory);
// Whether the process is one of this machine that has the directory's lock file open. A number in a file may be of
// another namespace, or of a process that came later. False also where this user may not see.
bool HasLockOpen(int process, const std::string& directory);

class LockFile {
 public:
  LockFile() = default;
  // The error names the holder: "data/events is in use by process 1234 (weir relay)".
  // `address` is for others on this machine who would rather ask the holder than wait.
  static Result<LockFile> Take(const std::string& directory, const std::string& address = "");
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

  static constexpr const char* kName = "weir.lock";

 private:
  HeldFile file_;
};

}  // namespace weir
