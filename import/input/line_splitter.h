// LineSplitter: divides the bytes of an input, which come in pieces of any size, into chunks of whole lines (chunk.h),
// in bounded memory.
//
//   splitter.Add(piece, file_bytes, on_chunk);   // for each piece
//   splitter.End(on_chunk);                      // at the end; the last line need not have a line feed
//
// A chunk is complete when its lines have `chunk_bytes` bytes or more, or when it has kMostLines lines. A line longer
// than `max_line_bytes` becomes several chunks of kind kTooLong, so the splitter never holds it whole and no byte is
// lost. The functions call `on_chunk` in their own thread, for each complete chunk, before they return. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "import/input/chunk.h"
#include "relay/nostr/event_parser.h"

namespace weir {

// Returns the longest line that is judged as an event. The size of an event includes neither white space between its
// tokens nor fields that NIP-01 does not define (event_parser.h), so a line may have as many bytes of these as of the
// event, and some more. An escape counts as the bytes in which it is written.
constexpr size_t MaxLineBytes(const EventLimits& limits) { return 2 * limits.max_bytes + (64 << 10); }

struct SplitterLimits {
  size_t chunk_bytes = 64 << 10;
  size_t max_line_bytes = 256 << 10;  // without its line feed
};

class LineSplitter {
 public:
  using OnChunk = std::function<void(Chunk chunk)>;

  // The most lines of a chunk, which bounds its weight (WeightOf). Lines with events reach `chunk_bytes` earlier.
  static constexpr uint64_t kMostLines = 1024;

  // `input` is the index of the input. `begin` is the place of the first byte: the start of the input, unless an import
  // is resumed.
  LineSplitter(const SplitterLimits& limits, uint32_t input, Place begin = {});

  // Adds the bytes that come next. `file_bytes` is the number of bytes of the file that were read up to the end of the
  // piece; it goes into Chunk::file_bytes.
  void Add(std::string_view piece, uint64_t file_bytes, const OnChunk& on_chunk);
  // Passes the whole lines that it holds to `on_chunk`, because the reader has to wait for more bytes.
  void Flush(const OnChunk& on_chunk);
  // Passes everything that it holds to `on_chunk`, including a last line without a line feed.
  void End(const OnChunk& on_chunk);

  // Returns the place behind the last chunk that was passed on.
  const Place& place() const { return place_; }
  // Returns true if bytes came after place(). After a Flush they are the beginning of a line.
  bool unfinished() const { return !text_.empty() || in_long_line_; }
  // Returns true if Flush would pass on a chunk.
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
  std::string text_;    // bytes not yet passed on: whole lines, then the beginning of one
  size_t whole_ = 0;    // bytes of the whole lines in text_
  uint64_t lines_ = 0;  // number of the whole lines in text_
  bool in_long_line_ = false;
  bool first_piece_ = true;
};

}  // namespace weir
