// HeldFile: a file that one process holds at a time, and that may say who does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weir {

// Who holds a file.
struct LockHolder {
  int process = 0;      // 0: the file does not say
  std::string name;     // "weir relay"
  std::string address;  // where it answers; these two need not be there
};
// "process 1234 (weir relay)", "another process".
std::string Describe(const LockHolder& holder);
// Nothing where nobody holds it.
std::optional<LockHolder> FindHolder(const std::string& path);

// Not thread-safe.
class HeldFile {
 public:
  enum class Outcome : uint8_t { kHeld, kInUse, kFailed };

  HeldFile() = default;
  ~HeldFile() { Close(); }
  HeldFile(HeldFile&& other) noexcept { *this = std::move(other); }
  HeldFile& operator=(HeldFile&& other) noexcept;

  // Opens the file to read and to append, makes it where it is not there, and holds it until Close. What is no file on
  // a disk (/dev/stderr, a pipe) is anybody's. Where it failed errno says why.
  Outcome Open(const std::string& path);
  // Puts text in the place of what the file has: "PROCESS[ NAME]\n[ADDRESS\n]". It is only for FindHolder; where the
  // disk is full the file is held without it.
  void Say(const std::string& text);
  void Close();
  void Remove();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool made() const { return made_; }  // Open has made it

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_ = false;
};

}  // namespace weir
