// IndexWalk: the entries of a part of the index, in order, for code that removes them.
//
// RocksDB passes over deleted entries that are not compacted yet in one go, at 0.2 to 0.4 µs each: a hundred thousand
// of them, left by an author who comes again and again, hold a thread for 20 to 40 ms. So after a hundred the walk
// stops at one of them, which counts as work, and the caller can look at its budget.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "relay/account/work.h"
#include "relay/store/database.h"

namespace weir {

class IndexWalk {
 public:
  // `looked` grows by what the walk costs; both must outlive it.
  IndexWalk(const Database& database, Work* looked);

  void Seek(std::string_view key);
  void Next();
  bool Within(std::string_view prefix) const { return key_.starts_with(prefix); }  // false at the end
  const std::string& key() const { return key_; }
  // Returns true if there is an entry at the key, false if one was deleted.
  bool has_entry() const { return at_->Valid(); }
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
