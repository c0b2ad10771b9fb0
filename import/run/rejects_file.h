// RejectsFile: the file to which an import appends the lines that it rejected, each with its input, its line number and
// the reason, so that no line is lost.
//
//   events.jsonl:17<TAB>the signature is not its author's<TAB>the line's bytes as they were
//
// The object locks the file from Open until the destructor, so only one import at a time writes it. The destructor
// deletes the file if this object created it and it is empty. Not thread-safe.
//
// Several imports may write the file one after the other, and the file may be replaced. So the file has the mark of the
// import that wrote it last, as an extended attribute, and CutBack cuts only a file that has the mark of its import.
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
  // `mark` is the mark() of that import before it was interrupted. Cuts nothing if the file does not have this mark, or
  // if one of the lines belongs to an input that is not in `inputs`: it is better to keep a line twice than to lose a
  // line of another import. The file has no mark if its file system has no extended attributes of users, or no room
  // for one.
  Status CutBack(uint64_t bytes, std::string_view mark, std::span<const std::string> inputs);

  // Takes the rejected lines of a chunk of the input `input`; Write then writes them.
  void Add(const SettledChunk& settled, std::string_view input);
  // Writes the lines that Add took. The first call that has lines puts mark() on the file. After an error, for example
  // on a full disk, the next Write continues at the byte where this one stopped.
  Status Write();
  // Syncs to disk everything that Write wrote. Does nothing if the file is not on a disk, such as /dev/stderr.
  Status Sync();
  // Drops the lines that are not written completely, and removes their written part from the file.
  void Forget();

  // Returns the length of the file without the lines that are not written completely.
  uint64_t bytes() const { return bytes_; }
  // Returns the mark of this import: a random one, or that of the interrupted import whose mark CutBack found.
  const std::string& mark() const { return mark_; }
  const std::string& path() const { return path_; }

 private:
  bool EndsWithinALine() const;
  std::string MarkOfFile() const;
  Status Mark() const;
  Status Error(std::string_view what) const;

  const std::string path_;
  HeldFile file_;
  std::string mark_;
  bool begun_ = false;   // true after the first Write that had lines to write
  uint64_t bytes_ = 0;   // length of the file without waiting_
  std::string waiting_;  // lines that are not written completely
  size_t written_ = 0;   // bytes of waiting_ that are written
};

}  // namespace weir
