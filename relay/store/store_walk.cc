#include "relay/store/store_walk.h"

#include "relay/store/database.h"
#include "relay/store/keys.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

class RocksDbWalk final : public StoreWalk {
 public:
  explicit RocksDbWalk(const RocksDbStore& store) : db_(*store.db()), snapshot_(store.db()) {
    for (rocksdb::ColumnFamilyHandle* family : store.families()) {
      if (family->GetName() == kEventsFamily) events_ = family;
      if (family->GetName() == kIndexFamily) index_ = family;
    }
    options_ = snapshot_.ReadOptions();
    options_.fill_cache = false;
    options_.total_order_seek = true;
  }

  Result<std::vector<ShelfEntry>> Read(Shelf shelf, const std::string& after, size_t most) override {
    const auto letter = static_cast<char>(shelf);
    std::string from(1, letter);
    // The next possible key is this one with a zero behind it.
    if (!after.empty()) from.append(after).push_back('\0');
    std::vector<ShelfEntry> entries;
    const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(options_, index_));
    for (at->Seek(from); entries.size() < most && at->Valid() && ToView(at->key()).starts_with(letter); at->Next())
      entries.push_back({std::string(ToView(at->key()).substr(1)), at->value().ToString()});
    if (!at->status().ok()) return Unreadable(at->status());
    if (shelf == Shelf::kEvents)
      if (Status read = ReadRecords(&entries); !read.ok()) return read;
    return entries;
  }

 private:
  Status ReadRecords(std::vector<ShelfEntry>* entries) const {
    std::vector<Key> keys;
    for (const ShelfEntry& each : *entries) {
      IndexEntry entry;
      if (!ReadIdValue(each.value, &entry)) return Damaged();
      keys.push_back(EventKey(entry.serial));
    }
    std::vector<rocksdb::Slice> slices;
    for (const Key& key : keys) slices.push_back(ToSlice(key));
    std::vector<rocksdb::PinnableSlice> records(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_.MultiGet(options_, events_, keys.size(), slices.data(), records.data(), statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!statuses[i].ok() && !statuses[i].IsNotFound()) return Unreadable(statuses[i]);
      if (statuses[i].IsNotFound() || !EventView::WellFormed(ToView(records[i]))) return Damaged();
      (*entries)[i].value = records[i].ToString();
    }
    return {};
  }
  Status Damaged() const { return Status::Error(db_.GetName() + " is damaged; `weir check` says how"); }
  Status Unreadable(const rocksdb::Status& status) const {
    return DatabaseError("cannot read " + db_.GetName(), status);
  }

  rocksdb::DB& db_;
  const Snapshot snapshot_;
  rocksdb::ColumnFamilyHandle* events_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  rocksdb::ReadOptions options_;
};

}  // namespace

std::unique_ptr<StoreWalk> WalkThrough(const RocksDbStore& store) { return std::make_unique<RocksDbWalk>(store); }

}  // namespace weir
