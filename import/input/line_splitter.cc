#include "import/input/line_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir {
namespace {

// Returns the first line with its line feed, or all of `text` if it has no line feed.
std::string_view FirstLine(std::string_view text, bool* ends) {
  const void* feed = std::memchr(text.data(), '\n', text.size());
  *ends = feed != nullptr;
  return *ends ? text.substr(0, static_cast<size_t>(static_cast<const char*>(feed) - text.data()) + 1) : text;
}

// A chunk rarely grows beyond chunk_bytes plus one line of this size.
constexpr size_t kUsualLine = 4 << 10;

}  // namespace

LineSplitter::LineSplitter(const SplitterLimits& limits, uint32_t input, Place begin)
    : limits_{.chunk_bytes = std::max<size_t>(1, limits.chunk_bytes), .max_line_bytes = limits.max_line_bytes},
      input_(input),
      place_(begin) {}

void LineSplitter::Add(std::string_view piece, uint64_t file_bytes, const OnChunk& on_chunk) {
  file_bytes_ = file_bytes;
  while (!piece.empty()) {
    if (in_long_line_) {
      TakeLong(&piece, on_chunk);
    } else {
      Take(&piece, on_chunk);
    }
  }
}

void LineSplitter::Take(std::string_view* piece, const OnChunk& on_chunk) {
  bool ends = false;
  const std::string_view part = FirstLine(*piece, &ends);
  if (text_.size() - whole_ + part.size() - (ends ? 1 : 0) > limits_.max_line_bytes) {
    HandOver(on_chunk);
    in_long_line_ = first_piece_ = true;
    return;
  }
  if (text_.empty()) text_.reserve(limits_.chunk_bytes + kUsualLine);
  text_.append(part);
  piece->remove_prefix(part.size());
  if (!ends) return;
  whole_ = text_.size();
  ++lines_;
  if (whole_ >= limits_.chunk_bytes || lines_ >= kMostLines) HandOver(on_chunk);
}

// Always keeps some bytes until the line ends or more of it comes, so that the last piece is never empty.
void LineSplitter::TakeLong(std::string_view* piece, const OnChunk& on_chunk) {
  bool ends = false;
  std::string_view part = FirstLine(*piece, &ends);
  part = part.substr(0, limits_.chunk_bytes);
  ends = ends && part.back() == '\n';
  text_.append(part);
  piece->remove_prefix(part.size());
  size_t begin = 0;
  for (; text_.size() - begin > limits_.chunk_bytes; begin += limits_.chunk_bytes)
    HandOverPiece(text_.substr(begin, limits_.chunk_bytes), false, false, on_chunk);
  text_.erase(0, begin);
  if (ends) HandOverPiece(std::exchange(text_, {}), true, true, on_chunk);
}

void LineSplitter::HandOverPiece(std::string text, bool last, bool line_ends, const OnChunk& on_chunk) {
  Chunk chunk{.kind = Chunk::Kind::kTooLong,
              .first_piece = std::exchange(first_piece_, false),
              .last_piece = last,
              .input = input_,
              .text = std::move(text),
              .begin = place_,
              .file_bytes = file_bytes_};
  place_.bytes += chunk.text.size();
  if (line_ends) ++place_.lines;
  if (last) in_long_line_ = false;
  chunk.end = place_;
  on_chunk(std::move(chunk));
}

void LineSplitter::HandOver(const OnChunk& on_chunk) {
  if (whole_ == 0) return;
  std::string rest = text_.substr(whole_);
  text_.resize(whole_);
  Chunk chunk{.input = input_, .text = std::move(text_), .begin = place_, .file_bytes = file_bytes_};
  text_ = std::move(rest);
  place_.bytes += std::exchange(whole_, 0);
  place_.lines += std::exchange(lines_, 0);
  chunk.end = place_;
  on_chunk(std::move(chunk));
}

void LineSplitter::Flush(const OnChunk& on_chunk) {
  if (!in_long_line_) HandOver(on_chunk);
}

void LineSplitter::End(const OnChunk& on_chunk) {
  if (in_long_line_) return HandOverPiece(std::exchange(text_, {}), true, true, on_chunk);
  if (text_.size() > whole_) ++lines_;
  whole_ = text_.size();
  HandOver(on_chunk);
}

}  // namespace weir
