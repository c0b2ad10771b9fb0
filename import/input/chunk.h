// Chunk: a piece of an input of `weir import`, with its place in the input. An import reads, judges, saves and reports
// lines in chunks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// A place in an input, counted without compression.
struct Place {
  uint64_t bytes = 0;  // bytes before the place
  uint64_t lines = 0;  // lines that end before the place; the line that begins here has the number lines + 1
};

struct Chunk {
  enum class Kind : uint8_t {
    kLines,    // whole lines with their line feeds; the last line of an input may have none
    kTooLong,  // a piece of one line that is longer than an event can be; the last piece has the line feed
  };

  Kind kind = Kind::kLines;
  bool first_piece = true;  // true for kLines, and for the first piece of a line; all pieces have the same begin.lines
  bool last_piece = true;   // true for kLines, and for the last piece of a line: an import can be resumed after it
  uint32_t input = 0;       // index of the input; in a relay, the number of the part
  std::string text;
  Place begin;
  Place end;
  uint64_t file_bytes = 0;  // bytes of the file on disk that were read when the chunk was complete
};

// The memory that a line may need besides its text: a Reject and its reason, or the line of an answer that reports
// them. If a limit counted only the text, sixteen megabytes of one-byte lines could take a gigabyte.
inline constexpr uint64_t kLineBytes = 128;

// The bytes with which some programs begin a UTF-8 text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns the weight of a chunk: an upper bound of the memory that it needs until it is settled. An import limits the
// weight of the chunks that it holds.
inline uint64_t WeightOf(const Chunk& chunk) {
  return chunk.text.size() + kLineBytes * (chunk.end.lines - chunk.begin.lines + 1);
}

}  // namespace weir
