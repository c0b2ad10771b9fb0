// Decoder: takes compression off a stream, piece by piece. Several members or frames in a row are one stream, as gzip
// and zstd define it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"
#include "import/input/compression.h"

namespace weir {

// Tells the compression by the first bytes (four are enough); the file's name does not matter.
Compression CompressionOf(std::string_view first_bytes);

// The largest window that a zstd frame may need, as log2 of bytes: 128 MiB, as --long=27 makes it.
inline constexpr int kLargestZstdWindow = 27;

class Decoder {
 public:
  // Refuses a zstd frame that says it needs a larger window.
  static std::unique_ptr<Decoder> Make(Compression compression, int zstd_window_log = kLargestZstdWindow);
  virtual ~Decoder() = default;

  using OnBytes = std::function<void(std::string_view bytes)>;  // called with pieces of bounded size

  // Returns how much of the piece it has taken: all of it, or as much as made `max_output` bytes; then the caller adds
  // the rest. The last bytes of a piece may make 128 KiB more. Good data before an error is handed out. The error says
  // what is wrong with the data, and stays: "not gzip data at byte 0: incorrect header check".
  virtual Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) = 0;
  // Returns an error if the stream may not end here; it says that the data was cut off.
  virtual Status End() = 0;
};

}  // namespace weir
