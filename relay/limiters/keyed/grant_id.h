// The ids of grants: a client gives a grant back by the id that came with it, and cannot guess the id of another grant.
//
// The keyed limiter numbers the grants of a key one after the other. An id is such a number, encrypted (Speck64/128)
// with a random key of its process. So an id is valid only in the process that has made it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The block cipher Speck64/128.
class NumberCipher {
 public:
  using Key = std::array<uint32_t, 4>;
  // The key's least significant word comes first.
  explicit NumberCipher(Key key);

  uint64_t Encipher(uint64_t number) const;
  uint64_t Decipher(uint64_t enciphered) const;

 private:
  std::array<uint32_t, 27> round_keys_;
};

// Returns the id of a grant: 16 hexadecimal digits.
std::string GrantId(uint64_t grant);
// Returns the number of the grant; nullopt if the text does not have the form of an id. The number may be one that was
// never granted.
std::optional<uint64_t> GrantOf(std::string_view id);

}  // namespace weir
