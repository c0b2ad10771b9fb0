// The ids of grants. A grant is the permission for one request of a key. A client that does not need its grant any more
// gives it back by the grant's id. No client can guess the id of another client's grant.
//
// The keyed limiter numbers the grants of each key. An id is the number of a grant, encrypted with the block cipher
// Speck64/128 and a random secret of the process. So an id is valid only in the process that has made it.
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
  // The first word of `key` is its least significant one.
  explicit NumberCipher(Key key);

  uint64_t Encipher(uint64_t number) const;
  uint64_t Decipher(uint64_t enciphered) const;

 private:
  std::array<uint32_t, 27> round_keys_;
};

// Returns the id of a grant: 16 hexadecimal digits.
std::string GrantId(uint64_t grant);
// Returns the number of the grant that has this id; nullopt if `id` is not 16 hexadecimal digits. For an id that was
// never returned by GrantId, the number is arbitrary.
std::optional<uint64_t> GrantOf(std::string_view id);

}  // namespace weir
