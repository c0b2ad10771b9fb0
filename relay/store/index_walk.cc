#include "relay/store/index_walk.h"

#include <vector>

#include "rocksdb/utilities/debug.h"

namespace weir {
namespace {

constexpr uint64_t kMostDeleted = 100;  // deleted entries that are passed over at once
constexpr Work kStopWork = 80'000;      // passing them, finding the place, and seeking on: 0.8 µs an entry
constexpr int kDeletion = 0;            // KeyVersion::type of a deletion; fixed, because RocksDB's files have it

}  // namespace

IndexWalk::IndexWalk(const Database& database, Work* looked, Purpose purpose) : database_(database), looked_(looked) {
  rocksdb::ReadOptions options;
  options.prefix_same_as_start = purpose == Purpose::kRemoval;
  options.total_order_seek = purpose == Purpose::kReadAhead;
  options.fill_cache = purpose == Purpose::kReadAhead;
  options.max_skippable_internal_keys = kMostDeleted;
  at_.reset(database.db()->NewIterator(options, database.index()));
}

void IndexWalk::Seek(std::string_view key) {
  *looked_ += kSeekWork;
  const std::string from(key);
  at_->Seek(from);
  Settle(from);
}

void IndexWalk::Next() {
  const std::string from = key_;
  if (!at_->Valid()) return Seek(from);
  *looked_ += kVisitWork;
  at_->Next();
  Settle(from);
}

// Sets key_. An iterator that has skipped too many deleted entries does not report its position, so this function asks
// for the versions of the entries after `from`.
void IndexWalk::Settle(std::string_view from) {
  key_.clear();
  if (at_->Valid()) key_ = ToView(at_->key());
  if (at_->Valid() || !at_->status().IsIncomplete()) return;
  *looked_ += kStopWork;
  std::vector<rocksdb::KeyVersion> passed;
  if (!rocksdb::GetAllKeyVersions(database_.db(), database_.index(), ToSlice(from), {}, kMostDeleted, &passed).ok())
    return;
  key_ = from;
  for (const rocksdb::KeyVersion& version : passed) {
    if (version.user_key == key_) continue;  // an older version
    key_ = version.user_key;
    if (version.type != kDeletion) return;  // a compaction has dropped the deleted entries before it
  }
  if (key_ == from) key_.push_back('\0');  // all deleted entries were versions of this key
}

Status IndexWalk::status() const {
  if (at_->status().ok() || (at_->status().IsIncomplete() && !key_.empty())) return {};
  return DatabaseError("cannot read the index", at_->status());
}

}  // namespace weir
