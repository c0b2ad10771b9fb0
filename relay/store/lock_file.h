// A file that one process holds at a time and that says which.
#pragma once

#include <optional>
#include <string>

#include "config/status.h"

namespace weir {

// Who has a directory.
struct LockHolder {
  int process = 0;      // 0: the file does not say
  std::string name;     // "weir relay"
  std::string address;  // as it was given to Take: "http://127.0.0.1:3334"; may be empty
};
// "process 1234 (weir relay)", "another process".
std::string Describe(const LockHolder& holder);
// Nothing where nobody has it.
std::optional<LockHolder> HolderOf(const std::string& directory);

class LockFile {
 public:
  LockFile() = default;
  // The error names the holder: "data/events is in use by process 1234 (weir relay)".
  // `address` is for others on this machine who would rather ask the holder than wait.
  static Result<LockFile> Take(const std::string& directory, const std::string& address = "");
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
