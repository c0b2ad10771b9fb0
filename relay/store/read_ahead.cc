#include "relay/store/read_ahead.h"

#include <algorithm>
#include <utility>

#include "relay/account/work.h"
#include "relay/store/index_walk.h"
#include "relay/store/record_lookup.h"

namespace weir {
namespace {

constexpr size_t kRecords = 32;  // records in a piece, each of which may lie in a block of its own

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
  if (index_left_) return 0;
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
  Work looked = 0;
  IndexWalk walk(database_, &looked, IndexWalk::Purpose::kReadAhead);
  walk.Seek(index_resume_);
  while (looked < kTurnWork && !walk.key().empty()) walk.Next();
  index_resume_ = walk.key();
  index_left_ = walk.status().ok() && !index_resume_.empty();
  if (!index_left_) return walk.status();
  Status filters = ReadFilters();
  index_left_ = filters.ok();
  return filters;
}

// A walk asks no filter. So this function looks for a key that does not exist, behind the last one of the piece: its
// prefix exists, and the look-up asks the filter of each level.
Status ReadAhead::ReadFilters() {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      database_.db()->Get({}, database_.index(), ToSlice(index_resume_ + std::string(1, '\0')), &value);
  return status.ok() || status.IsNotFound() ? Status() : DatabaseError("cannot read the filters", status);
}

Status ReadAhead::NextOfRecords() {
  RecordLookup lookup;
  for (size_t left = std::min(kRecords, serials_.size()); left > 0; --left) {
    lookup.Add(serials_.back());
    serials_.pop_back();
  }
  // The blocks of the records would take ten times the room.
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  if (Status read = lookup.Run(database_, options); !read.ok()) return read;
  for (size_t slot = 0; slot < lookup.size(); ++slot) {
    const auto record = lookup.Value(slot);
    if (!record) continue;
    database_.record_cache().Keep(lookup.serial(slot), *record);
    ++records_;
  }
  return {};
}

}  // namespace weir
