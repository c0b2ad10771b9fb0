// HashOfName: a hash of a name that a stranger chose. HashedName and its hasher look one up in an unordered map of
// strings without hashing it again or copying it.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace weir {

template <typename Word>
uint64_t ReadWord(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Another in each process: clients choose the names, and could choose 100,000 with the same hash.
inline const uint64_t kNameSeed = uint64_t{std::random_device()()} << 32 | std::random_device()();

// The last word overlaps the one before: to read the rest byte by byte takes 2 ns more. Both halves of a product are
// needed: its lower bits alone do not depend on a name's last characters.
inline uint64_t HashOfName(std::string_view name) {
  const char* at = name.data();
  const char* end = at + name.size();
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = kNameSeed + name.size() * kOdd;
  const auto mix = [&](uint64_t word) {
    const auto product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  if (name.size() >= 8) {
    for (; end - at > 8; at += 8) mix(ReadWord<uint64_t>(at));
    mix(ReadWord<uint64_t>(end - 8));
  } else if (name.size() >= 4) {
    mix(ReadWord<uint32_t>(at) << 32 | ReadWord<uint32_t>(end - 4));
  } else {
    uint64_t word = 0;
    for (; at != end; ++at) word = word << 8 | static_cast<uint8_t>(*at);
    mix(word);
  }
  return hash;
}

struct HashedName {
  explicit HashedName(std::string_view text) : name(text), hash(HashOfName(text)) {}

  std::string_view name;
  size_t hash;
};

struct HashName {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the library looks for
  size_t operator()(const HashedName& name) const { return name.hash; }
  size_t operator()(const std::string& name) const { return HashOfName(name); }
};
struct SameName {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the name that the library looks for
  bool operator()(const std::string& a, const std::string& b) const { return a == b; }
  bool operator()(const HashedName& a, const std::string& b) const { return a.name == b; }
  bool operator()(const std::string& a, const HashedName& b) const { return a == b.name; }
};

}  // namespace weir
