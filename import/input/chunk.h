// Chunk: successive bytes of an input of an import, with their place in the input. The import reads, judges, saves and
// reports lines in chunks. In a relay, the input is the body of a POST.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// A position in an input, counted in the decompressed data.
struct Place {
  uint64_t bytes = 0;  // bytes before the place
  uint64_t lines = 0;  // lines that end before the place; the line that begins here has the number lines + 1
};

struct Chunk {
  enum class Kind : uint8_t {
    kLines,    // whole lines with their line feeds; the last line of an input may have none
    kTooLong,  // a piece of one line longer than MaxLineBytes (line_splitter.h); the last has the line feed
  };

  Kind kind = Kind::kLines;
  bool first_piece = true;  // true for kLines, and for the first piece of a long line
  bool last_piece = true;   // true for kLines, and for the last piece of a long line: an import can resume after it
  uint32_t input = 0;       // index of the input; in a relay, the number of the part
  std::string text;
  Place begin;  // all pieces of a long line have the same begin.lines
  Place end;
  uint64_t file_bytes = 0;  // bytes of the file on disk that were read when the chunk was complete
};

// The memory, in bytes, that a line may need besides its text: for a Reject and its reason (import/settled.h), or for
// the line of an answer that reports them. If a limit counted only the text, 16 MB of one-byte lines could take 1 GB.
inline constexpr uint64_t kLineBytes = 128;

// The bytes that some programs write before a UTF-8 text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns the weight of a chunk, in bytes: its text, plus kLineBytes for each line and kLineBytes more. An import
// limits the weight of the chunks that it holds; a chunk takes at most 2.5 times its weight of memory.
inline uint64_t WeightOf(const Chunk& chunk) {
  return chunk.text.size() + kLineBytes * (chunk.end.lines - chunk.begin.lines + 1);
}

}  // namespace weir
