// Decoder: takes compression off a stream, piece by piece. Several members or frames one after the other are one
// stream, as gzip and zstd have it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"
#include "import/input/compression.h"

namespace weir {

// By the first bytes (four are enough), whatever the file is called.
Compression CompressionOf(std::string_view first_bytes);

// How much the window of a zstd frame may need, as log2 of bytes: as much as --long=27 makes, 128 MiB.
inline constexpr int kLargestZstdWindow = 27;

class Decoder {
 public:
  // A zstd frame that says it needs a larger window is refused.
  static std::unique_ptr<Decoder> Make(Compression compression, int zstd_window_log = kLargestZstdWindow);
  virtual ~Decoder() = default;

  using OnBytes = std::function<void(std::string_view bytes)>;  // called with pieces of bounded size

  // Returns how much of the piece it has taken: all of it, or what made `max_output` bytes; then it wants the rest.
  // The last of a piece may make 128 KiB more. What is good before an error is handed out. The error says what is wrong
  // with the data, and stays: "not gzip data at byte 0: incorrect header check".
  virtual Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) = 0;
  // Whether the stream may end here; the error says that it was cut off.
  virtual Status End() = 0;
};

}  // namespace weir
