#include "relay/store/read_ahead.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "relay/store/record_lookup.h"

namespace weir {
namespace {

constexpr int kEntries = 2'000;   // entries of the index in a piece
constexpr size_t kRecords = 128;  // records in a piece

// An index block takes about twice as many bytes in memory as on the disk. The index may take half of the cache.
constexpr uint64_t kIndexPart = 4;

bool IsIndexSmall(const Database& database) {
  uint64_t bytes = 0;
  database.db()->GetIntProperty(database.index(), rocksdb::DB::Properties::kLiveSstFilesSize, &bytes);
  return bytes <= database.prepared().block_cache->GetCapacity() / kIndexPart;
}

}  // namespace

ReadAhead::ReadAhead(const Database& database, std::vector<uint64_t> serials)
    : database_(database),
      serials_(std::move(serials)),
      all_(serials_.size()),
      index_left_(database.prepared().block_cache != nullptr && IsIndexSmall(database)) {}

double ReadAhead::done() const {
  return all_ == 0 ? 1 : 1 - static_cast<double>(serials_.size()) / static_cast<double>(all_);
}

// The last tenth of the cache is left for what clients ask for meanwhile.
bool ReadAhead::HasRoom() const {
  const auto& cache = database_.prepared().block_cache;
  return cache != nullptr && cache->GetUsage() / 9 < cache->GetCapacity() / 10;
}

Result<bool> ReadAhead::Next() {
  if (!HasRoom() || (!index_left_ && serials_.empty())) return false;
  Status read = index_left_ ? NextOfIndex() : NextOfRecords();
  if (!read.ok()) return read;
  return true;
}

Status ReadAhead::NextOfIndex() {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> at(database_.db()->NewIterator(options, database_.index()));
  at->Seek(ToSlice(index_resume_));
  for (int left = kEntries; left > 0 && at->Valid(); --left) at->Next();
  index_left_ = at->Valid();
  if (index_left_) index_resume_ = at->key().ToString();
  return at->status().ok() ? Status() : DatabaseError("cannot read the index", at->status());
}

Status ReadAhead::NextOfRecords() {
  RecordLookup lookup;
  for (size_t left = std::min(kRecords, serials_.size()); left > 0; --left) {
    lookup.Add(serials_.back());
    serials_.pop_back();
  }
  Status read = lookup.Run(database_, {});
  for (size_t slot = 0; slot < lookup.size(); ++slot)
    if (read.ok() && lookup.Value(slot)) ++records_;
  return read;
}

}  // namespace weir
