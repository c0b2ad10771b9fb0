// KeySet: a set of 32-byte keys, such as the public keys of authors. A look-up among 100,000 keys reads two places of
// memory. The set never changes after its construction, so any thread may use it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "config/text/name_hash.h"
#include "relay/nostr/event.h"

namespace weir {

class KeySet {
 public:
  KeySet() = default;
  // Repeated keys count once.
  explicit KeySet(std::vector<Bytes32> keys) : keys_(std::move(keys)) {
    std::ranges::sort(keys_);
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
    if (keys_.empty()) return;
    table_.resize(std::bit_ceil(2 * keys_.size()));
    for (size_t i = 0; i < keys_.size(); ++i) {
      size_t place = PlaceOf(keys_[i]);
      while (table_[place] != 0) place = Next(place);
      table_[place] = static_cast<uint32_t>(i + 1);
    }
  }

  bool Has(const Bytes32& key) const {
    if (keys_.empty()) return false;
    size_t place = PlaceOf(key);
    for (; table_[place] != 0; place = Next(place))
      if (keys_[table_[place] - 1] == key) return true;
    return false;
  }
  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  const std::vector<Bytes32>& keys() const { return keys_; }  // sorted

 private:
  // The seed keeps strangers from choosing keys that share a place.
  size_t PlaceOf(const Bytes32& key) const {
    uint64_t words[2];
    std::memcpy(words, key.data() + 8, sizeof(words));
    const uint64_t mixed = (words[0] ^ kNameSeed) * 0x9e3779b97f4a7c15 ^ words[1];
    return (mixed * 0xbf58476d1ce4e5b9 >> 24) & (table_.size() - 1);
  }
  size_t Next(size_t place) const { return (place + 1) & (table_.size() - 1); }

  std::vector<Bytes32> keys_;
  std::vector<uint32_t> table_;  // the number of a key, from 1; 0: the place is free. At most half is taken
};

}  // namespace weir
