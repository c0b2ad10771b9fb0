// Items for tests of negentropy, and a slow fingerprint.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/negentropy/sync_set.h"
#include "relay/nostr/signature.h"

namespace weir {

// Returns an item of three that have the same date.
inline SyncItem ItemOf(uint64_t number) {
  return {.created_at = 1'700'000'000 + number / 3, .id = Sha256("event " + std::to_string(number))};
}

// Returns a sealed set of the items, which may be in any order.
inline SyncSet SealedSetOf(const std::vector<SyncItem>& items) {
  SyncSet set;
  for (const SyncItem& item : items) set.Add(item);
  EXPECT_TRUE(set.Seal());
  return set;
}
inline SyncSet SetOfNumbers(uint64_t begin, uint64_t end) {
  std::vector<SyncItem> items;
  for (uint64_t number = begin; number < end; ++number) items.push_back(ItemOf(number));
  return SealedSetOf(items);
}

// Adds byte by byte, and writes the number of items by hand.
inline Fingerprint SlowFingerprint(const std::vector<SyncItem>& items) {
  std::string text(32, '\0');
  for (const SyncItem& item : items) {
    int carry = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      carry += static_cast<uint8_t>(text[i]) + item.id[i];
      text[i] = static_cast<char>(carry & 255);
      carry >>= 8;
    }
  }
  std::string digits;
  size_t left = items.size();
  do {
    digits.insert(digits.begin(), static_cast<char>(left % 128 + (digits.empty() ? 0 : 128)));
    left /= 128;
  } while (left > 0);
  const Bytes32 hash = Sha256(text + digits);
  Fingerprint fingerprint;
  std::copy_n(hash.begin(), fingerprint.size(), fingerprint.begin());
  return fingerprint;
}

inline std::string BytesOfHex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  EXPECT_TRUE(FromHex(hex, reinterpret_cast<uint8_t*>(bytes.data()), bytes.size())) << hex;
  return bytes;
}

}  // namespace weir
