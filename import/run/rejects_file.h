// RejectsFile: the file to which an import appends the lines that it rejected, each with its input, its line number and
// the reason, so that no line is lost.
//
//   events.jsonl:17<TAB>the signature is not its author's<TAB>the line's bytes as they were
//
// The object locks the file from Open until the destructor, so only one import at a time writes it. The destructor
// deletes the file if this object created it and it is empty. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/held_file.h"
#include "config/status.h"
#include "import/settled.h"

namespace weir {

class RejectsFile {
 public:
  explicit RejectsFile(std::string path);
  ~RejectsFile();
  RejectsFile(const RejectsFile&) = delete;
  RejectsFile& operator=(const RejectsFile&) = delete;

  // Opens the file, and creates it if it does not exist; its directory must exist. Returns an error if another import
  // has the file open. Write and CutBack open the file if it is not open.
  Status Open();
  // Cuts off everything after the first `bytes` bytes, because an import that resumes will reject those lines again.
  // But if one of these lines belongs to an input that is not in `inputs`, cuts nothing: it is better to keep a line
  // twice than to lose a line of another import.
  Status CutBack(uint64_t bytes, std::span<const std::string> inputs);

  // Takes the rejected lines of a chunk of the input `input`; Write then writes them.
  void Add(const SettledChunk& settled, std::string_view input);
  // Writes the lines that Add took. After an error, for example on a full disk, the next Write continues at the byte
  // where this one stopped.
  Status Write();
  // Syncs to disk everything that Write wrote. Does nothing if the file is not on a disk, such as /dev/stderr.
  Status Sync();
  // Drops the lines that are not written completely, and removes their written part from the file.
  void Forget();

  // Returns the length of the file without the lines that are not written completely.
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  bool EndsWithinALine() const;
  Status Error(std::string_view what) const;

  const std::string path_;
  HeldFile file_;
  bool begun_ = false;   // true after the first Write that had lines to write
  uint64_t bytes_ = 0;   // length of the file without waiting_
  std::string waiting_;  // lines that are not written completely
  size_t written_ = 0;   // bytes of waiting_ that are written
};

}  // namespace weir
