// A piece of the input on its way through an import, with its place there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

// A place in an input, counted without compression.
struct Place {
  uint64_t bytes = 0;  // bytes before it
  uint64_t lines = 0;  // lines that ended before it; the line that begins here has the number lines + 1
};

struct Chunk {
  enum class Kind : uint8_t {
    kLines,    // whole lines, each with its line feed but perhaps the input's last
    kTooLong,  // a piece of one line that is longer than an event can be; the line feed belongs to the last piece
  };

  Kind kind = Kind::kLines;
  bool first_piece = true;  // begins a line that is too long; `begin.lines` is the same for all pieces of the line
  bool last_piece = true;   // an import may be resumed only behind it, or behind lines
  uint32_t input = 0;       // index of the input
  std::string text;
  Place begin;
  Place end;
  uint64_t file_bytes = 0;  // bytes of the file on disk that were read when the chunk was whole
};

// The memory that a line may cost beside its text: a Reject and its reason, or the same as a line of an answer. If a
// window counted the text alone, sixteen megabytes of one-byte lines could take a gigabyte.
inline constexpr uint64_t kLineBytes = 128;

// Some programs begin a text with these bytes.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Returns how much a chunk under way counts for, whatever its lines turn out to be.
inline uint64_t WeightOf(const Chunk& chunk) {
  return chunk.text.size() + kLineBytes * (chunk.end.lines - chunk.begin.lines + 1);
}

}  // namespace weir
