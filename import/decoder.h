// Decoder: takes compression off a stream, piece by piece. Several members or frames one after the other are one
// stream, as gzip and zstd have it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"
#include "import/compression.h"

namespace weir {

// By the first bytes (four are enough), whatever the file is called.
Compression CompressionOf(std::string_view first_bytes);

// A piece of this size becomes 32 MiB at most; whoever must keep what comes out gives no larger ones.
inline constexpr size_t kDecoderPiece = 1 << 10;

class Decoder {
 public:
  static std::unique_ptr<Decoder> Make(Compression compression);
  virtual ~Decoder() = default;

  using OnBytes = std::function<void(std::string_view bytes)>;  // called with pieces of bounded size

  // What is good before an error is handed out. The error says what is wrong with the data, and stays: "not gzip data
  // at byte 0: incorrect header check".
  virtual Status Add(std::string_view piece, const OnBytes& on_bytes) = 0;
  // Whether the stream may end here; the error says that it was cut off.
  virtual Status End() = 0;
};

}  // namespace weir
