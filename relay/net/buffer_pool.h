// BufferPool: keeps buffers that the connections of one I/O thread borrow while they read or write. A connection that
// has nothing to read or write holds no buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir {

constexpr size_t kPieceBytes = size_t{64} << 10;  // the size of a Piece

// Not thread-safe.
class BufferPool {
 public:
  using Piece = std::unique_ptr<char[]>;  // a buffer of kPieceBytes

  // Returns a buffer for input. Its content is undefined.
  Piece TakePiece() {
    if (pieces_.empty()) return Piece(new char[kPieceBytes]);
    Piece piece = std::move(pieces_.back());
    pieces_.pop_back();
    return piece;
  }
  // Takes a buffer back; keeps it for the next TakePiece, or frees it.
  void Return(Piece piece) {
    if (pieces_.size() < kKept) pieces_.push_back(std::move(piece));
  }

  // Returns an empty string for output, with room for kPieceBytes or more.
  std::string TakeOutput() {
    std::string output;
    if (!outputs_.empty()) {
      output = std::move(outputs_.back());
      outputs_.pop_back();
    }
    output.reserve(kPieceBytes);
    return output;
  }
  // Takes a string back. Clears it and keeps it for the next TakeOutput, or frees it if it is long or the pool is full.
  void Return(std::string output) {
    if (output.capacity() > 4 * kPieceBytes || outputs_.size() == kKept) return;
    output.clear();
    outputs_.push_back(std::move(output));
  }

 private:
  static constexpr size_t kKept = 16;  // the most buffers of each kind
  std::vector<Piece> pieces_;
  std::vector<std::string> outputs_;
};

}  // namespace weir
