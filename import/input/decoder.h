// Decoder: decompresses a stream piece by piece. Several gzip members or zstd frames in a row are one stream, as both
// formats define it.
//
// Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "config/status.h"
#include "import/input/compression.h"

namespace weir {

// Returns the compression that the first bytes of a file show. Four bytes are enough. The file's name does not matter.
Compression CompressionOf(std::string_view first_bytes);

// The largest window that a zstd frame may need, as log2 of bytes: 128 MiB, the window of `zstd --long=27`.
inline constexpr int kLargestZstdWindow = 27;

class Decoder {
 public:
  // Makes a decoder. With kZstd, Add returns an error for a frame that needs a window of more than 2^zstd_window_log
  // bytes.
  static std::unique_ptr<Decoder> Make(Compression compression, int zstd_window_log = kLargestZstdWindow);
  virtual ~Decoder() = default;

  using OnBytes = std::function<void(std::string_view bytes)>;  // at most 64 KiB at once (kNone: `max_output`)

  // Decodes the piece, passes the decoded bytes to `on_bytes` in the calling thread, and returns how many bytes of the
  // piece it has used. If Add has passed on `max_output` bytes before it has used the whole piece, it stops, and the
  // caller calls Add again with the rest. Otherwise Add passes on all that is decoded; it may then exceed `max_output`
  // by up to 128 KiB. If the data is damaged, Add passes on the bytes that it decoded before the damage, and returns an
  // error that says what is wrong ("not gzip data at byte 0: incorrect header check"); all later calls return the same
  // error.
  virtual Result<size_t> Add(std::string_view piece, size_t max_output, const OnBytes& on_bytes) = 0;
  // Ends the stream, after the last Add. Returns an error if the data is damaged or cut off.
  virtual Status End() = 0;
};

}  // namespace weir
