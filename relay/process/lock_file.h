// LockFile: holds the lock file in the directory of a database. Only the process that holds it may open the database
// for writing, so at most one process at a time does.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "config/held_file.h"
#include "config/status.h"

namespace weir {

// Returns the process that holds the lock file of `directory`, as the file describes it. Returns nullopt if no process
// holds the file, or if the file cannot be opened.
std::optional<LockHolder> HolderOf(const std::string& directory);
// Returns true if `process` is a process of this machine that has the directory's lock file open. A caller needs this
// check because the process id in the file may belong to another PID namespace (a container), or may have been reused
// by a later process. Returns false if the user of this program may not look at the process.
bool HasLockOpen(int process, const std::string& directory);

class LockFile {
 public:
  // Makes an object that holds no lock.
  LockFile() = default;
  // Takes the lock of `directory`, which must exist. If another process holds it, the error names that process:
  // "data/events is in use by process 1234 (weir relay)". `address`, at which other programs on this machine can reach
  // this one, is written into the file (LockHolder::address).
  static Result<LockFile> Take(const std::string& directory, const std::string& address = "");
  // Empties the file and releases the lock. The file stays.
  ~LockFile();
  LockFile(LockFile&&) = default;
  LockFile& operator=(LockFile&&) = default;

  static constexpr const char* kName = "weir.lock";

 private:
  HeldFile file_;
};

}  // namespace weir
