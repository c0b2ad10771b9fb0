// Tail: the last bytes before a place in an input. A checkpoint keeps their hash, so that a resumed import notices if
// the input has changed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

inline constexpr size_t kTailBytes = 4096;

// Not thread-safe.
class Tail {
 public:
  Tail() = default;
  explicit Tail(std::string bytes) : bytes_(std::move(bytes)) {}

  // Adds the next bytes of the decompressed input.
  void Add(std::string_view bytes);

  // Returns the last kTailBytes bytes, or all if there are fewer.
  const std::string& bytes() const { return bytes_; }
  // Returns the SHA-256 of bytes() in hexadecimal.
  std::string Hex() const;

 private:
  std::string bytes_;
};

}  // namespace weir
