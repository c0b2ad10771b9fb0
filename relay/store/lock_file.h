// A file that one process holds at a time and that says which.
#pragma once

#include <string>

#include "config/status.h"

namespace weir {

class LockFile {
 public:
  LockFile() = default;
  // The error names the holder: "data/events is in use by process 1234 (weir relay)".
  static Result<LockFile> Take(const std::string& directory);
  ~LockFile() { Release(); }
  LockFile(LockFile&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  LockFile& operator=(LockFile&& other) noexcept;

  static constexpr const char* kName = "weir.lock";

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  void Release();

  int descriptor_ = -1;
};

}  // namespace weir
