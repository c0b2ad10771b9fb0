// KeyLookup: looks up many keys of one family at once, which costs less than one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "relay/store/database.h"

namespace weir {

class KeyLookup {
 public:
  // Returns the key's slot.
  size_t Add(const Key& key) {
    keys_.push_back(key);
    return keys_.size() - 1;
  }
  // Looks up all keys added since the last Clear.
  Status Run(const Database& database, rocksdb::ColumnFamilyHandle* family, const rocksdb::ReadOptions& options);
  // To be called after Run. Null if there is no such key. Valid until Clear.
  std::optional<std::string_view> Value(size_t slot) const {
    if (!statuses_[slot].ok()) return std::nullopt;
    return std::string_view(values_[slot].data(), values_[slot].size());
  }
  size_t size() const { return keys_.size(); }
  void Clear();

 private:
  std::vector<Key> keys_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

}  // namespace weir
