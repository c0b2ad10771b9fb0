// Source: reads the inputs of an import one after the other, as chunks. It takes files, plain, gzip or zstd (told by
// their first bytes), standard input and other streams (FIFOs).
//
// Not thread-safe, except Stop, which may be called from another thread and makes Next return.
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
  // The place to begin at: everything before it was imported. Earlier inputs are not opened. The place is not in the
  // middle of a line: a chunk of lines ended there, or the last piece of a long line.
  uint32_t first_input = 0;
  Place first_place;
};

class Source {
 public:
  // Checks that every input is there and can be read, so that a wrong name is reported before the first event is
  // imported. Resuming needs the same bytes before the place: `expected_tail` is a Tail's Hex. A plain file that has
  // other bytes is refused here; a compressed one or a stream by Next, which has to read it up to the place.
  static Result<std::unique_ptr<Source>> Open(const SourceOptions& options, const std::string& expected_tail = "");
  virtual ~Source() = default;

  // Returns the next chunk; nothing at the end, or after Stop. If a stream has no more for now, it hands over what
  // there is. The error names the input and the line: "big.jsonl.gz: damaged after line 1234: …"; everything before was
  // handed over, except a line that is incomplete.
  virtual Result<std::optional<Chunk>> Next() = 0;
  virtual void Stop() = 0;

  // The size of all inputs on disk; 0 if one of them is no regular file.
  virtual uint64_t total_bytes() const = 0;
  // The size of the inputs before `input` when this was opened; an input that is no regular file counts 0.
  virtual uint64_t bytes_before(size_t input) const = 0;
  // The bytes on disk before first_place; 0 if they have to be read to know.
  virtual uint64_t first_file_bytes() const = 0;
  // The input that Next reads; after an error, the one that has it.
  virtual size_t input() const = 0;
  // The bytes before first_place, up to kTailBytes, with which a writer of checkpoints begins its Tail. Known when the
  // first chunk is there.
  virtual const std::string& first_tail() const = 0;
};

}  // namespace weir
