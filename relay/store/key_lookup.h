// KeyLookup: looks up many keys of one column family at once, which costs less than looking them up one by one.
//
// Call Add for each key, then Run, then Value. Call Clear before the next use.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "relay/store/database.h"

namespace weir {

class KeyLookup {
 public:
  // Adds a key. Returns its slot, the argument of Value.
  size_t Add(const Key& key) {
    keys_.push_back(key);
    return keys_.size() - 1;
  }
  // Looks up all keys that were added since the last Clear. A key that does not exist is no error.
  Status Run(const Database& database, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& options);
  // Returns the value of the key in the slot, or nullopt if the key does not exist. Must be called only after a
  // successful Run. The view is valid until Clear.
  std::optional<std::string_view> Value(size_t slot) const {
    if (!statuses_[slot].ok()) return std::nullopt;
    return std::string_view(values_[slot].data(), values_[slot].size());
  }
  // Returns the number of keys that were added since the last Clear.
  size_t size() const { return keys_.size(); }
  // Forgets all keys and values.
  void Clear();

 private:
  std::vector<Key> keys_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

}  // namespace weir
