#include "relay/nostr/npub.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "config/text/hex.h"
#include "config/text/parse.h"

namespace weir {
namespace {

// Bech32 (BIP-173): a prefix, the digit 1, the data in groups of five bits, and a checksum of six groups.
constexpr std::string_view kGroups = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::string_view kPrefix = "npub";
constexpr size_t kKeyGroups = 52;  // 256 bits, and four bits that are 0
constexpr size_t kChecksumGroups = 6;
constexpr size_t kNpubSize = kPrefix.size() + 1 + kKeyGroups + kChecksumGroups;

// Returns 1 if the groups end with their right checksum.
uint32_t Checksum(const std::vector<uint8_t>& groups) {
  constexpr std::array<uint32_t, 5> kGenerator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
  uint32_t sum = 1;
  const auto add = [&](uint32_t group) {
    const uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ group;
    for (size_t bit = 0; bit < kGenerator.size(); ++bit)
      if ((top >> bit & 1) != 0) sum ^= kGenerator[bit];
  };
  for (const char c : kPrefix) add(static_cast<uint32_t>(c) >> 5);
  add(0);
  for (const char c : kPrefix) add(static_cast<uint32_t>(c) & 31);
  for (const uint8_t group : groups) add(group);
  return sum;
}

bool IsSecret(std::string_view text) { return text.starts_with("nsec1") || text.starts_with("NSEC1"); }

Status NoKey(std::string_view why) { return Status::Error("is not a public key: " + std::string(why)); }

Result<PublicKey> ParseNpub(std::string_view text) {
  if (text.size() != kNpubSize)
    return NoKey("an npub has " + std::to_string(kNpubSize) + " characters, not " + std::to_string(text.size()));
  std::vector<uint8_t> groups;
  for (const char c : text.substr(kPrefix.size() + 1)) {
    const size_t group = kGroups.find(c);
    if (group == kGroups.npos) return NoKey("an npub has none of the characters 1, b, i and o, and no capitals");
    groups.push_back(static_cast<uint8_t>(group));
  }
  if (Checksum(groups) != 1) return NoKey("a character of this npub is wrong, because its checksum does not match");
  PublicKey key{};
  for (size_t bit = 0; bit < 8 * key.size(); ++bit)
    if ((groups[bit / 5] >> (4 - bit % 5) & 1) != 0) key[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
  if ((groups[kKeyGroups - 1] & 15) != 0) return NoKey("the last bits of an npub must be 0");
  return key;
}

}  // namespace

Result<PublicKey> ParsePublicKey(std::string_view text) {
  if (text.starts_with("npub1")) return ParseNpub(text);
  if (IsSecret(text)) return NoKey("this is a secret key, which belongs in no file of a relay");
  PublicKey key{};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c; });
  if (FromHex(lower, key.data(), key.size())) return key;
  return NoKey("expected npub1… or 64 hex digits");
}

std::string PrintableKey(std::string_view text) { return IsSecret(text) ? "nsec1…" : Printable(text); }

std::string ToNpub(const PublicKey& key) {
  std::vector<uint8_t> groups(kKeyGroups);
  for (size_t bit = 0; bit < 8 * key.size(); ++bit)
    if ((key[bit / 8] >> (7 - bit % 8) & 1) != 0) groups[bit / 5] |= static_cast<uint8_t>(16 >> bit % 5);
  groups.resize(kKeyGroups + kChecksumGroups);
  const uint32_t checksum = Checksum(groups) ^ 1;
  for (size_t i = 0; i < kChecksumGroups; ++i)
    groups[kKeyGroups + i] = static_cast<uint8_t>(checksum >> 5 * (kChecksumGroups - 1 - i) & 31);
  std::string npub = std::string(kPrefix) + "1";
  for (const uint8_t group : groups) npub += kGroups[group];
  return npub;
}

}  // namespace weir
