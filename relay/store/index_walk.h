// The entries of a part of the index, in order, for whoever removes them.
//
// What was deleted and is not compacted yet RocksDB passes over in one go, 0.2 to 0.4 µs each: a hundred thousand of
// them, left by an author who comes again and again, hold a thread for 20 to 40 ms. So the walk stops after a hundred
// at one of them, which counts as work, and whoever walks looks at its budget.
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
  // Whether there is an entry at the key, or one was deleted.
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
