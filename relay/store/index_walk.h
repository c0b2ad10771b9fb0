// IndexWalk: goes through a part of the index in the order of its keys, for code that removes the entries or reads them
// into memory.
//
// A single call of a RocksDB iterator passes over all deleted entries that are in its way and not compacted yet, at 0.2
// to 0.4 µs each. A hundred thousand of them, left by an author who vanishes again and again, would hold a thread for
// 20 to 40 ms. So after a hundred deleted entries the walk stops at one of them and counts the work, and the caller can
// check its budget.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "relay/account/work.h"
#include "relay/store/database.h"

namespace weir {

class IndexWalk {
 public:
  // kRemoval: goes through entries with a common prefix (NewIndexPrefix), and leaves the cache as it is. kReadAhead:
  // goes through all entries, and keeps what it reads in the cache.
  enum class Purpose : uint8_t { kRemoval, kReadAhead };

  // Adds the work of the walk to `*looked`. Both arguments must outlive the walk.
  IndexWalk(const Database& database, Work* looked, Purpose purpose = Purpose::kRemoval);

  // Moves to the first entry at or behind `key`, or stops at a deleted entry before that entry.
  void Seek(std::string_view key);
  // Moves to the next entry, or stops at a deleted entry before that entry. key() must not be empty.
  void Next();
  // Returns true if the walk is at a key with this prefix; false at the end of the index and after an error (see
  // status()).
  bool Within(std::string_view prefix) const { return key_.starts_with(prefix); }
  const std::string& key() const { return key_; }
  // Returns true if there is an entry at key(), false if it was deleted.
  bool has_entry() const { return at_->Valid(); }
  // Returns the value of the entry; has_entry() must be true. Valid until the walk moves.
  std::string_view value() const { return ToView(at_->value()); }
  Status status() const;

 private:
  void Settle(std::string_view from);

  const Database& database_;
  Work* const looked_;
  std::unique_ptr<rocksdb::Iterator> at_;
  std::string key_;
};

}  // namespace weir
