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
