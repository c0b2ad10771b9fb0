// HeldFile: a file that at most one process at a time holds, that is, has locked with flock; for example a lock file.
// The text in the file may name the process that holds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace weir {

// The process that holds a file.
struct LockHolder {
  int process = 0;      // process id; 0 if the file does not name it
  std::string name;     // "weir relay"; may be empty
  std::string address;  // the address at which the process answers; may be empty
};
// Returns "process 1234 (weir relay)", or "another process" if the id is not known.
std::string Describe(const LockHolder& holder);
// Returns the process that holds the file, as the text of the file describes it. Returns nullopt if no process holds
// the file, or if the file cannot be opened.
std::optional<LockHolder> FindHolder(const std::string& path);

// Not thread-safe. The destructor closes the file.
class HeldFile {
 public:
  // kHeld: this object holds the file. kInUse: another process, or another HeldFile, holds it. kFailed: the file cannot
  // be opened or locked, and errno says why.
  enum class Outcome : uint8_t { kHeld, kInUse, kFailed };
  // kRefuse: to open a symbolic link fails with ELOOP. Choose it in a directory to which another user can write,
  // because a link there may lead to a file that is not that user's to change.
  enum class Links : uint8_t { kFollow, kRefuse };

  HeldFile() = default;
  ~HeldFile() { Close(); }
  // Moving swaps the files of the two objects.
  HeldFile(HeldFile&& other) noexcept { *this = std::move(other); }
  HeldFile& operator=(HeldFile&& other) noexcept;

  // Closes the file that this object held. Opens the file for reading and appending, creates it if it is missing, and
  // holds it until Close. A device or a pipe (/dev/stderr) is never in use: any number of processes may hold it.
  Outcome Open(const std::string& path, Links links = Links::kFollow);
  // Replaces the content of the open file by `text`, which FindHolder expects as "PROCESS[ NAME]\n[ADDRESS\n]". If the
  // text cannot be written, for example on a full disk, this object still holds the file, but the text is missing or
  // incomplete.
  void Say(const std::string& text);
  // Closes the file, so that another process can hold it. Does nothing if no file is open.
  void Close();
  // Deletes the file while it is still held, then closes it. A process that opens the path afterwards gets a new file.
  // Does nothing if no file is open.
  void Remove();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool made() const { return made_; }  // true if Open created the file

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_ = false;
};

}  // namespace weir
