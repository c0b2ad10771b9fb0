// The id by which a client can give back the grant that it got, and no other.
//
// The limiter numbers a key's grants one after the other. An id is such a number enciphered (Speck64/128) under a key
// that each process draws, so clients that know some ids cannot guess the ids of others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

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

// Returns 16 hexadecimal digits.
std::string GrantId(uint64_t grant);
// Returns nullopt if the text is no id; the number may still be one that was never granted.
std::optional<uint64_t> GrantOf(std::string_view id);

}  // namespace weir
