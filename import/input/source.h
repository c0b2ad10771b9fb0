// Source: reads the inputs of an import one after the other, as chunks (chunk.h). An input is a file, standard input or
// a FIFO. Its first bytes show whether it is plain or compressed by gzip or zstd.
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
  // The place to begin at: an earlier run imported everything before it. The source does not open earlier inputs. The
  // place must be the beginning of a line.
  uint32_t first_input = 0;
  Place first_place;
};

class Source {
 public:
  // Opens the input `first_input`. Returns an error if this input or a later one does not exist or cannot be read, so
  // that the import reports a wrong name before it imports the first event.
  //
  // `expected_tail` is the hash (Tail::Hex in tail.h) of the last kTailBytes bytes that the earlier run read before
  // first_place; if it is empty, no bytes are compared. If the input has other bytes there, or ends before first_place,
  // it has changed, which is an error. Open returns this error for a plain file. Next returns it for a compressed file
  // or a stream, because Next has to read the input up to first_place.
  static Result<std::unique_ptr<Source>> Open(const SourceOptions& options, const std::string& expected_tail = "");
  virtual ~Source() = default;

  // Returns the next chunk; nullopt at the end of the last input, or after Stop. Blocks while a stream has no data; if
  // a stream has paused for 100 ms, first returns the whole lines that came before the pause. An error names the input.
  // If the input is damaged or cannot be read on, the error also names the line: "big.jsonl.gz: damaged after line
  // 1234: …". Before this error, Next returns all whole lines that precede the damage.
  virtual Result<std::optional<Chunk>> Next() = 0;
  // Makes Next return nullopt, now and later.
  virtual void Stop() = 0;

  // Returns the size on disk, in bytes, of all inputs when the source was opened; 0 if one is not a regular file.
  virtual uint64_t total_bytes() const = 0;
  // Returns the size on disk, in bytes, of the inputs with an index below `input` when the source was opened. An input
  // counts as 0 if it is not a regular file, or if an earlier run imported it and it is gone.
  virtual uint64_t bytes_before(size_t input) const = 0;
  // Returns the number of bytes on disk before first_place; 0 if the input is compressed, standard input or a FIFO.
  virtual uint64_t first_file_bytes() const = 0;
  // Returns the index of the input that Next reads; after an error, of the input that has the error.
  virtual size_t input() const = 0;
  // Returns the last bytes before first_place, at most kTailBytes. The import begins its own Tail with these bytes, so
  // that later checkpoints can store its hash. They are known when Next has returned the first chunk.
  virtual const std::string& first_tail() const = 0;
};

}  // namespace weir
