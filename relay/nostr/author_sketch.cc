#include "relay/nostr/author_sketch.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "config/text/hex.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr size_t kKeyDigits = 2 * sizeof(PublicKey);

// Returns the key in the address of an event, `kind:key:d`, in hexadecimal; empty if `value` is no address.
std::string_view KeyOfAddress(std::string_view value) {
  const size_t kind_end = value.find(':');
  if (kind_end == 0 || kind_end == value.npos) return {};
  if (!std::ranges::all_of(value.substr(0, kind_end), IsDigit)) return {};
  const std::string_view rest = value.substr(kind_end + 1);
  return rest.size() > kKeyDigits && rest[kKeyDigits] == ':' ? rest.substr(0, kKeyDigits) : std::string_view();
}

// Returns the 32 bytes from which NIP-45 derives the position: an id or a key that the value is or names, else a hash
// of the value.
Bytes32 TargetOf(std::string_view value) {
  Bytes32 target;
  for (const std::string_view hex : {value, KeyOfAddress(value)})
    if (hex.size() == kKeyDigits && FromHex(hex, target.data(), target.size())) return target;
  return Sha256(value);
}

}  // namespace

std::optional<AuthorSketch> AuthorSketch::For(std::span<const Filter> filters) {
  if (filters.size() != 1 || filters[0].tags.size() != 1 || filters[0].tags[0].values.size() != 1) return std::nullopt;
  // NIP-45 takes the hexadecimal digit at position 32, which is the first digit of byte 16.
  return AuthorSketch(8 + (TargetOf(filters[0].tags[0].values[0])[16] >> 4));
}

// Counts zeros in seven bytes, as other programs do. NIP-45 names no end; it makes no difference for keys that are not
// made for it.
void AuthorSketch::Add(const PublicKey& author) {
  uint64_t bits = 0;
  for (size_t i = 1; i < 8; ++i) bits = bits << 8 | author[offset_ + i];
  const int zeros = bits == 0 ? 56 : std::countl_zero(bits) - 8;
  uint8_t& most = registers_[author[offset_]];
  most = std::max(most, static_cast<uint8_t>(zeros + 1));
}

std::string AuthorSketch::ToHex() const { return weir::ToHex(registers_.data(), registers_.size()); }

}  // namespace weir
