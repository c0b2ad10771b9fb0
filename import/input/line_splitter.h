// LineSplitter: divides the bytes of an input into chunks of whole lines (chunk.h), in bounded memory. The caller adds
// the bytes in pieces of any size.
//
//   splitter.Add(piece, file_bytes, on_chunk);   // for each piece
//   splitter.End(on_chunk);                      // at the end; the last line need not have a line feed
//
// A chunk is complete when its lines have at least `chunk_bytes` bytes, when it has kMostLines lines, or when the next
// line is too long. A line longer than `max_line_bytes` becomes chunks of kind kTooLong, each with at most
// `chunk_bytes` bytes. So the splitter never holds the whole line, and no byte is lost. Add, Flush and End call
// `on_chunk` in the calling thread, before they return. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "import/input/chunk.h"
#include "relay/nostr/event_parser.h"

namespace weir {

// Returns the length, in bytes, of the longest line that the import parses as an event; it rejects a longer line
// without parsing it. EventLimits::max_bytes counts neither white space between tokens nor fields that NIP-01 does not
// define (event_parser.h), so a line may have twice max_bytes, plus 64 KiB. An escape sequence counts as it is written.
constexpr size_t MaxLineBytes(const EventLimits& limits) { return 2 * limits.max_bytes + (64 << 10); }

struct SplitterLimits {
  size_t chunk_bytes = 64 << 10;
  size_t max_line_bytes = 256 << 10;  // without its line feed
};

class LineSplitter {
 public:
  using OnChunk = std::function<void(Chunk chunk)>;

  // The most lines in a chunk; this bounds the chunk's weight (WeightOf). Lines with events reach `chunk_bytes`
  // earlier.
  static constexpr uint64_t kMostLines = 1024;

  // `input` is the index of the input. `begin` is the place of the first byte: the start of the input, unless an import
  // is resumed.
  LineSplitter(const SplitterLimits& limits, uint32_t input, Place begin = {});

  // Adds the next bytes of the input. `file_bytes` becomes Chunk::file_bytes: the number of bytes of the file that were
  // read up to the end of the piece.
  void Add(std::string_view piece, uint64_t file_bytes, const OnChunk& on_chunk);
  // Passes the whole lines that the splitter holds to `on_chunk`, even if their chunk is not complete. Call it when the
  // input has no more bytes for now.
  void Flush(const OnChunk& on_chunk);
  // Passes everything that the splitter holds to `on_chunk`, including a last line without a line feed.
  void End(const OnChunk& on_chunk);

  // Returns the end of the last chunk that was passed to `on_chunk`.
  const Place& place() const { return place_; }
  // Returns true if bytes were added after place(). After a Flush these bytes are the beginning of a line.
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
  std::string text_;    // bytes not passed on yet: whole lines, then the beginning of the next line
  size_t whole_ = 0;    // bytes of the whole lines in text_
  uint64_t lines_ = 0;  // number of the whole lines in text_
  bool in_long_line_ = false;
  bool first_piece_ = true;
};

}  // namespace weir
