// IdSum: the sum of ids of events, each read as a number of 256 bits whose first byte is the lowest, modulo 2^256. It
// becomes the fingerprint by which two sides recognise that they have the same events (NIP-77).
//
// A client that could choose ids freely could make two sets with the same sum; but an id is the hash of its event.
//
// Threads: only one thread at a time may use a sum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "relay/nostr/event.h"

namespace weir {

using Fingerprint = std::array<uint8_t, 16>;

class IdSum {
 public:
  void Add(const EventId& id);
  // Subtracts a sum of ids that were added before.
  void Subtract(const IdSum& other);
  // Returns the fingerprint of a set of `count` ids that have this sum. Takes about a microsecond.
  Fingerprint FingerprintOf(uint64_t count) const;

 private:
  std::array<uint64_t, 4> parts_{};  // the lowest part first
};

}  // namespace weir
