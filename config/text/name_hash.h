// HashOfName: a hash for names that untrusted clients choose. HashedName is a name together with its hash. An unordered
// map with std::string keys that uses HashName and SameName finds a HashedName without hashing or copying the name
// again.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace weir {

// Returns the integer of type Word whose bytes begin at `at`, in the byte order of the machine.
template <typename Word>
uint64_t ReadWord(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The seed is random and differs from process to process. Clients choose the names; if they knew the seed, they could
// choose 100,000 names with the same hash.
inline const uint64_t kNameSeed = uint64_t{std::random_device()()} << 32 | std::random_device()();

// Returns the hash of `name`, which is valid in this process only. The last eight bytes that are read may overlap the
// eight before them, because reading the rest byte by byte takes 2 ns more. Both halves of a product are needed: its
// lowest bits alone do not depend on the last characters of a name.
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

// A name and its hash. The text must outlive this object.
struct HashedName {
  explicit HashedName(std::string_view text) : name(text), hash(HashOfName(text)) {}

  std::string_view name;
  size_t hash;
};

// The hasher and the comparison for an unordered map in which a HashedName can be looked up.
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
