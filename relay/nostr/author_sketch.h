// AuthorSketch: estimates how many different authors some events have, in 256 bytes (the HyperLogLog of NIP-45). A
// client asks several relays for the followers of a key, and merges their sketches by taking the larger value of each
// register. The result is the sketch of all followers, each of them once, however many relays know them.
//
// One byte of an author's public key chooses one of 256 registers. The register keeps the largest number, over all its
// authors, of leading zero bits in the seven bytes that follow, plus one. The filter decides which byte it is: NIP-45
// derives the position from the value of the filter's tag, so that all relays use the same one, and so that a key which
// counts for many authors in the sketch of one value is an ordinary key in most others. The relay only fills the
// sketch; clients estimate the number of authors. The standard error is 1.04 / sqrt(256) = 6.5 %
// (tests/relay/nostr/author_sketch_test.cc measures it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "relay/nostr/filter.h"

namespace weir {

class AuthorSketch {
 public:
  static constexpr size_t kRegisters = 256;

  // Returns an empty sketch for the events that match `filters`. Returns nullopt if there is not exactly one filter, or
  // if the filter has not exactly one tag condition with exactly one value. NIP-45 leaves the sketch of a filter
  // without tags undefined, and takes the first of several values, but a Filter does not keep their order.
  static std::optional<AuthorSketch> For(std::span<const Filter> filters);

  void Add(const PublicKey& author);
  // Returns the registers in hexadecimal, as in the member `hll` of a COUNT message.
  std::string ToHex() const;
  // Returns the position of the byte that chooses a register, from 8 to 23.
  size_t offset() const { return offset_; }

 private:
  explicit AuthorSketch(size_t offset) : offset_(offset) {}

  size_t offset_;
  std::array<uint8_t, kRegisters> registers_{};
};

}  // namespace weir
