#include "relay/limiters/keyed/grant_id.h"

#include <endian.h>

#include <bit>
#include <random>

#include "config/text/hex.h"

namespace weir {
namespace {

// Does one round of the cipher. Numbers and the schedule of the round keys use the same round.
void Mix(uint32_t* high, uint32_t* low, uint32_t key) {
  *high = (std::rotr(*high, 8) + *low) ^ key;
  *low = std::rotl(*low, 3) ^ *high;
}
void Unmix(uint32_t* high, uint32_t* low, uint32_t key) {
  *low = std::rotr(*low ^ *high, 3);
  *high = std::rotl((*high ^ key) - *low, 8);
}

const NumberCipher& Cipher() {
  static const NumberCipher cipher = [] {
    std::random_device random;
    return NumberCipher({random(), random(), random(), random()});
  }();
  return cipher;
}

}  // namespace

NumberCipher::NumberCipher(Key key) {
  for (uint32_t round = 0; round < round_keys_.size(); ++round) {
    round_keys_[round] = key[0];
    Mix(&key[1 + round % 3], &key[0], round);
  }
}

uint64_t NumberCipher::Encipher(uint64_t number) const {
  auto high = static_cast<uint32_t>(number >> 32), low = static_cast<uint32_t>(number);
  for (const uint32_t key : round_keys_) Mix(&high, &low, key);
  return uint64_t{high} << 32 | low;
}

uint64_t NumberCipher::Decipher(uint64_t enciphered) const {
  auto high = static_cast<uint32_t>(enciphered >> 32), low = static_cast<uint32_t>(enciphered);
  for (size_t round = round_keys_.size(); round > 0; --round) Unmix(&high, &low, round_keys_[round - 1]);
  return uint64_t{high} << 32 | low;
}

std::string GrantId(uint64_t grant) {
  const uint64_t high_first = htobe64(Cipher().Encipher(grant));
  return ToHex(reinterpret_cast<const uint8_t*>(&high_first), sizeof high_first);
}

std::optional<uint64_t> GrantOf(std::string_view id) {
  uint64_t high_first = 0;
  if (!FromHex(id, reinterpret_cast<uint8_t*>(&high_first), sizeof high_first)) return std::nullopt;
  return Cipher().Decipher(be64toh(high_first));
}

}  // namespace weir
