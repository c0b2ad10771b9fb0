// RejectsFile: the lines that an import did not take, each with where it stood and why, so that none is lost.
//
//   events.jsonl:17<TAB>the signature is not its author's<TAB>the line's bytes as they were
//
// It is made when there is something to write, and appended to. A write that fails, on a full disk say, keeps what is
// left of it: Write goes on where it stopped, as often as it takes. While one process writes, another one cannot.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "import/settled.h"

namespace weir {

class RejectsFile {
 public:
  explicit RejectsFile(std::string path);
  ~RejectsFile();
  RejectsFile(const RejectsFile&) = delete;
  RejectsFile& operator=(const RejectsFile&) = delete;

  // Whether it can be written; it need not be there, its directory must.
  Status Check() const;
  // For an import that goes on: cuts off what came after the first `bytes`, since these inputs will bring it again.
  // Where others have written since, nothing is cut: better a line twice than another's line gone.
  Status CutBack(uint64_t bytes, std::span<const std::string> inputs);

  // Takes the rejected lines of a chunk; they wait for Write.
  void Add(const SettledChunk& settled, std::string_view input);
  Status Write();
  // What was written is on disk.
  Status Sync();
  // Gives up what waits, and cuts off the beginning of it that is written.
  void Forget();

  // How long the file is; while nothing waits.
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  Status Open();
  Status Error(std::string_view what) const;

  const std::string path_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
  std::string waiting_;
  size_t written_ = 0;  // of what waits
};

}  // namespace weir
