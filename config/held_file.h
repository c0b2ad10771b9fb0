// HeldFile: a file that one process holds at a time, and that may name its holder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weir {

// The process that holds a file.
struct LockHolder {
  int process = 0;      // 0: the file does not say
  std::string name;     // "weir relay"
  std::string address;  // the address at which it answers; name and address may be empty
};
// "process 1234 (weir relay)", "another process".
std::string Describe(const LockHolder& holder);
// Returns nullopt if no process holds the file, or if it cannot be opened.
std::optional<LockHolder> FindHolder(const std::string& path);

// Not thread-safe.
class HeldFile {
 public:
  enum class Outcome : uint8_t { kHeld, kInUse, kFailed };

  HeldFile() = default;
  ~HeldFile() { Close(); }
  HeldFile(HeldFile&& other) noexcept { *this = std::move(other); }
  HeldFile& operator=(HeldFile&& other) noexcept;

  // Opens the file to read and to append, makes it if it is missing, and holds it until Close. A device or a pipe
  // (/dev/stderr) is never in use: any number of processes may hold it. After kFailed errno says why.
  Outcome Open(const std::string& path);
  // Replaces the file's content by "PROCESS[ NAME]\n[ADDRESS\n]". Only FindHolder reads it; if the disk is full, the
  // file is held without it.
  void Say(const std::string& text);
  void Close();
  void Remove();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool made() const { return made_; }  // Open made the file

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_ = false;
};

}  // namespace weir
