// Buffers of 64 KiB that the connections of one I/O thread share in turns: a connection that waits holds none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir {

constexpr size_t kPieceBytes = size_t{64} << 10;

// One thread only.
class BufferPool {
 public:
  using Piece = std::unique_ptr<char[]>;

  Piece TakePiece() {
    if (pieces_.empty()) return Piece(new char[kPieceBytes]);
    Piece piece = std::move(pieces_.back());
    pieces_.pop_back();
    return piece;
  }
  void Return(Piece piece) {
    if (pieces_.size() < kKept) pieces_.push_back(std::move(piece));
  }

  // Returns an empty string with room for a piece or more.
  std::string TakeOutput() {
    std::string output;
    if (!outputs_.empty()) {
      output = std::move(outputs_.back());
      outputs_.pop_back();
    }
    output.reserve(kPieceBytes);
    return output;
  }
  void Return(std::string output) {
    if (output.capacity() > 4 * kPieceBytes || outputs_.size() == kKept) return;
    output.clear();
    outputs_.push_back(std::move(output));
  }

 private:
  static constexpr size_t kKept = 16;
  std::vector<Piece> pieces_;
  std::vector<std::string> outputs_;
};

}  // namespace weir
