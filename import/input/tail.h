// Tail: the last bytes before a place of an input, by which a checkpoint recognizes the place.
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

  // Adds the bytes that come next in the input, without compression.
  void Add(std::string_view bytes);

  // The last kTailBytes, or all if there are fewer.
  const std::string& bytes() const { return bytes_; }
  // Returns their SHA-256.
  std::string Hex() const;

 private:
  std::string bytes_;
};

}  // namespace weir
