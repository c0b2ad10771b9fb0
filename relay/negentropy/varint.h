// Numbers as negentropy writes them: digits of seven bits, the highest first, each in a byte whose eighth bit is set
// unless it is the last. A number has as few digits as possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

inline size_t VarintBytes(uint64_t number) {
  size_t bytes = 1;
  while (number >>= 7) ++bytes;
  return bytes;
}

inline void AppendVarint(uint64_t number, std::string* out) {
  for (size_t left = VarintBytes(number); left > 0; --left) {
    const auto digit = static_cast<uint8_t>(number >> (7 * (left - 1)) & 127);
    out->push_back(static_cast<char>(left > 1 ? digit | 128 : digit));
  }
}

// Removes a number from the front of `*in`. Returns nullopt if there is none, if it has more than 64 bits, or if it has
// more digits than it needs; `*in` is then undefined.
inline std::optional<uint64_t> TakeVarint(std::string_view* in) {
  uint64_t number = 0;
  for (bool is_first = true; !in->empty(); is_first = false) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    if ((is_first && byte == 128) || number > (UINT64_MAX >> 7)) return std::nullopt;
    number = number << 7 | (byte & 127);
    if (byte < 128) return number;
  }
  return std::nullopt;
}

}  // namespace weir
