#include "relay/store/key_lookup.h"

namespace weir {

Status KeyLookup::Run(const Database& database, rocksdb::ColumnFamilyHandle* family,
                      const rocksdb::ReadOptions& options) {
  if (keys_.empty()) return {};
  slices_.clear();
  for (const Key& key : keys_) slices_.push_back(ToSlice(key));
  if (values_.size() < keys_.size()) values_.resize(keys_.size());
  statuses_.assign(keys_.size(), rocksdb::Status());
  if (keys_.size() == 1) {
    statuses_[0] = database.db()->Get(options, family, slices_[0], &values_[0]);
  } else {
    database.db()->MultiGet(options, family, keys_.size(), slices_.data(), values_.data(), statuses_.data());
  }
  for (const rocksdb::Status& status : statuses_)
    if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the " + family->GetName(), status);
  return {};
}

void KeyLookup::Clear() {
  // Resets the values also because a RocksDB slice that is moved while it pins a block loses its buffer.
  for (rocksdb::PinnableSlice& value : values_) value.Reset();
  keys_.clear();
  statuses_.clear();
}

}  // namespace weir
