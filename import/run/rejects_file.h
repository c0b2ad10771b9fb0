// RejectsFile: the lines that an import did not take, each with its place and the reason, so that none is lost.
//
//   events.jsonl:17<TAB>the signature is not its author's<TAB>the line's bytes as they were
//
// One import at a time appends to it, from Open to the end. If nothing was rejected, no file is left behind. If a write
// fails, on a full disk say, the rest is kept: Write goes on where it stopped, as often as it takes. Not thread-safe.
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

  // The file need not be there, its directory must. Write opens it if the caller did not.
  Status Open();
  // For an import that goes on: cuts off what came after the first `bytes`, since these inputs will bring it again. If
  // others have written since, nothing is cut: better a line twice than another's line gone.
  Status CutBack(uint64_t bytes, std::span<const std::string> inputs);

  // Takes the rejected lines of a chunk; they wait for Write.
  void Add(const SettledChunk& settled, std::string_view input);
  Status Write();
  // Returns ok when everything that was written is on disk.
  Status Sync();
  // Gives up what waits, and cuts off the part of it that is written.
  void Forget();

  // The length of the file, if nothing waits.
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  bool EndsWithinALine() const;
  Status Error(std::string_view what) const;

  const std::string path_;
  HeldFile file_;
  bool begun_ = false;  // there was something to write
  uint64_t bytes_ = 0;
  std::string waiting_;
  size_t written_ = 0;  // bytes of waiting_
};

}  // namespace weir
