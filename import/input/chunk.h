// A piece of the input on its way through an import, with where it stood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// Where something stands in an input, as it is without compression.
struct Place {
  uint64_t bytes = 0;  // before it
  uint64_t lines = 0;  // that ended before it; the line that begins here has the number lines + 1
};

struct Chunk {
  enum class Kind : uint8_t {
    kLines,    // whole lines, each with its line feed but perhaps the input's last
    kTooLong,  // a piece of one line that is longer than an event can be; the line feed belongs to the last piece
  };

  Kind kind = Kind::kLines;
  bool first_piece = true;  // of a line that is too long; `begin.lines` is the same for all its pieces
  bool last_piece = true;   // only behind it, or behind lines, may an import go on later
  uint32_t input = 0;       // which one of several
  std::string text;
  Place begin;
  Place end;
  uint64_t file_bytes = 0;  // read of the file, as it is on disk, when the chunk was whole
};

// What a line may cost in memory beside its text: a Reject and its reason, or the same as a line of an answer. A window
// that counted the text alone would let sixteen megabytes of one-byte lines take a gigabyte.
inline constexpr uint64_t kLineBytes = 128;

// Some programs begin a text with it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What a chunk under way counts for, whatever its lines turn out to be.
inline uint64_t WeightOf(const Chunk& chunk) {
  return chunk.text.size() + kLineBytes * (chunk.end.lines - chunk.begin.lines + 1);
}

}  // namespace weir
