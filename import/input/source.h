// Source: the inputs of an import one after the other, as chunks: files plain, gzip or zstd (told by their first
// bytes), standard input and other streams (FIFOs).
//
// Not thread-safe, but Stop, which may be called from another thread and makes Next return.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/status.h"
#include "import/input/chunk.h"
#include "import/input/line_splitter.h"
#include "import/input/tail.h"

namespace weir {

struct SourceOptions {
  std::vector<std::string> inputs;  // paths; "-" is standard input
  SplitterLimits limits;
  // Where to begin: all before was imported. Inputs before this one are not opened. Not in the middle of a line: where
  // a chunk of lines or the last piece of a long line ended.
  uint32_t first_input = 0;
  Place first_place;
};

class Source {
 public:
  // Looks at every input to see that it is there and can be read, so that a name that is wrong is told before the first
  // event is imported. Going on needs the same bytes before the place: `expected_tail`, a Tail's Hex. A plain file that
  // has others is refused here; a compressed one or a stream by Next, which has to read it up to there.
  static Result<std::unique_ptr<Source>> Open(const SourceOptions& options, const std::string& expected_tail = "");
  virtual ~Source() = default;

  // The next chunk; nothing at the end, or after Stop. Where a stream has nothing more for now it hands over what there
  // is. The error names the input and the line: "big.jsonl.gz: damaged after line 1234: …"; what came before it was
  // handed over, but a line of which only a part came.
  virtual Result<std::optional<Chunk>> Next() = 0;
  virtual void Stop() = 0;

  // On disk, all inputs; 0 where one of them is no regular file.
  virtual uint64_t total_bytes() const = 0;
  // Of the inputs before this one, as they were when it was opened; what is no regular file has none.
  virtual uint64_t bytes_before(size_t input) const = 0;
  // On disk, before first_place: 0 for what has to be read to know.
  virtual uint64_t first_file_bytes() const = 0;
  // That Next reads: after an error, the one that has it.
  virtual size_t input() const = 0;
  // What stands before first_place, up to kTailBytes: for the Tail of whoever writes checkpoints. Known when the first
  // chunk is there.
  virtual const std::string& first_tail() const = 0;
};

}  // namespace weir
