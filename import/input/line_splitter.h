// LineSplitter: turns bytes in pieces of any size into chunks of whole lines, in bounded memory.
//
//   splitter.Add(piece, file_bytes, on_chunk);   // as often as there is something
//   splitter.End(on_chunk);                      // the last line need not have a line feed
//
// A chunk is handed over when it has `chunk_bytes` or a line more, or kMostLines. A line longer than `max_line_bytes`
// comes as pieces of kTooLong, so it is not lost and never kept whole. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "import/input/chunk.h"
#include "relay/nostr/event_parser.h"

namespace weir {

// White space between tokens and fields that NIP-01 does not know are no part of an event's size (event_parser.h), so a
// line has as much room for these as for the event, and some more. Escapes count as they are written.
constexpr size_t MaxLineBytes(const EventLimits& limits) { return 2 * limits.max_bytes + (64 << 10); }

struct SplitterLimits {
  size_t chunk_bytes = 64 << 10;
  size_t max_line_bytes = 256 << 10;  // without its line feed
};

class LineSplitter {
 public:
  using OnChunk = std::function<void(Chunk chunk)>;

  // The most lines of a chunk, so that short lines weigh no more than others (WeightOf). Events never come so far.
  static constexpr uint64_t kMostLines = 1024;

  // `begin` is the place of the first byte: an import that is resumed begins in the middle.
  LineSplitter(const SplitterLimits& limits, uint32_t input, Place begin = {});

  // `file_bytes`: bytes read of the file, with this piece.
  void Add(std::string_view piece, uint64_t file_bytes, const OnChunk& on_chunk);
  // Hands over the whole lines that are there, as the reader has to wait for more.
  void Flush(const OnChunk& on_chunk);
  // Ends the last line with the input.
  void End(const OnChunk& on_chunk);

  // The place behind what was handed over, and whether more has come: after a Flush, a line that is not whole.
  const Place& place() const { return place_; }
  bool unfinished() const { return !text_.empty() || in_long_line_; }
  // True if a Flush has something to hand over.
  bool has_whole_line() const { return whole_ > 0; }

 private:
  void Take(std::string_view* piece, const OnChunk& on_chunk);
  void TakeLong(std::string_view* piece, const OnChunk& on_chunk);
  void HandOver(const OnChunk& on_chunk);
  void HandOverPiece(std::string text, bool last, bool line_ends, const OnChunk& on_chunk);

  const SplitterLimits limits_;
  const uint32_t input_;
  Place place_;
  uint64_t file_bytes_ = 0;
  std::string text_;    // not handed over: whole lines, then the beginning of one
  size_t whole_ = 0;    // bytes of the whole lines
  uint64_t lines_ = 0;  // and how many they are
  bool in_long_line_ = false;
  bool first_piece_ = true;
};

}  // namespace weir
