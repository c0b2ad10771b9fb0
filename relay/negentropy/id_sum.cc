#include "relay/negentropy/id_sum.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "relay/negentropy/varint.h"
#include "relay/nostr/signature.h"

namespace weir {

void IdSum::Add(const EventId& id) {
  std::array<uint64_t, 4> added;
  static_assert(sizeof(added) == sizeof(id));
  std::memcpy(added.data(), id.data(), sizeof(added));
  uint64_t carry = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const uint64_t sum = parts_[i] + added[i];
    parts_[i] = sum + carry;
    carry = static_cast<uint64_t>(sum < added[i]) | static_cast<uint64_t>(parts_[i] < sum);
  }
}

void IdSum::Subtract(const IdSum& other) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const uint64_t before = parts_[i];
    const uint64_t rest = before - other.parts_[i];
    parts_[i] = rest - borrow;
    borrow = static_cast<uint64_t>(before < other.parts_[i]) | static_cast<uint64_t>(rest < borrow);
  }
}

Fingerprint IdSum::FingerprintOf(uint64_t count) const {
  std::string text(reinterpret_cast<const char*>(parts_.data()), sizeof(parts_));
  AppendVarint(count, &text);
  const Bytes32 hash = Sha256(text);
  Fingerprint fingerprint;
  std::copy_n(hash.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

}  // namespace weir
