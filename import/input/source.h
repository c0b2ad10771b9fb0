// Source: reads the inputs of an import one after the other, as chunks (chunk.h). An input is a file, standard input or
// another stream (a FIFO), plain or compressed by gzip or zstd, as its first bytes show.
//
// Not thread-safe, except Stop, which any thread may call.
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
  // The place to begin at: everything before it was imported. Earlier inputs are not opened. The place must be between
  // two lines.
  uint32_t first_input = 0;
  Place first_place;
};

class Source {
 public:
  // Opens the first input. Returns an error if an input from first_input on does not exist or cannot be read, so that a
  // wrong name is reported before the first event is imported. If an import is resumed, the bytes before first_place
  // must be those of the last import. `expected_tail` is their Tail::Hex; if it is empty, they are not compared. For a
  // plain file Open compares them and returns an error if they differ; for a compressed file or a stream Next does,
  // because it has to read the input up to the place.
  static Result<std::unique_ptr<Source>> Open(const SourceOptions& options, const std::string& expected_tail = "");
  virtual ~Source() = default;

  // Returns the next chunk; nullopt at the end, or after Stop. Blocks while a stream has no data; if a stream has
  // paused for 100 ms, first returns the whole lines that it has brought. An error names the input and the line:
  // "big.jsonl.gz: damaged after line 1234: …". Before the error, Next has returned everything that precedes the
  // damage, except a line that is incomplete.
  virtual Result<std::optional<Chunk>> Next() = 0;
  // Makes Next return nullopt, now and later.
  virtual void Stop() = 0;

  // Returns the size of all inputs on disk; 0 if one of them is no regular file.
  virtual uint64_t total_bytes() const = 0;
  // Returns the size on disk of the inputs before `input` when the source was opened, with 0 for each that is no
  // regular file.
  virtual uint64_t bytes_before(size_t input) const = 0;
  // Returns the bytes on disk before first_place; 0 if the input is compressed or a stream.
  virtual uint64_t first_file_bytes() const = 0;
  // Returns the index of the input that Next reads; after an error, of the input that has the error.
  virtual size_t input() const = 0;
  // Returns the bytes before first_place, at most kTailBytes, with which a Tail for later checkpoints begins. They are
  // known when Next has returned the first chunk.
  virtual const std::string& first_tail() const = 0;
};

}  // namespace weir
