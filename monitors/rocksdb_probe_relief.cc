// The part of RocksDbProbe that frees memory of the database: its cache, its memtables.
#include <algorithm>
#include <utility>

#include "monitors/rocksdb_probe.h"
#include "monitors/rocksdb_version.h"

namespace weir {
namespace {

// FlushLargest frees about this share of all memtables: of eight that are filled in turns, the largest. One of many
// small ones would not end a stop of all writers.
constexpr double kFreedShare = 1.0 / 6;

// The least share of the cache's full size that blocks have beside the pinned bytes.
constexpr double kLeastCachedBlocks = 1.0 / 8;

using Properties = rocksdb::DB::Properties;

}  // namespace

void RocksDbProbe::SetCacheShare(double share) {
  const MutexLock lock(db_mutex_);
  if (db_ == nullptr) return;
  cache_share_ = share;
  FitCache();
}

// Pinned bytes (write buffers that are charged to the cache, blocks in use) come and go; beside them there is always
// room for blocks.
void RocksDbProbe::FitCache() {
  if (!block_cache_) return;
  const auto full = static_cast<double>(full_cache_bytes_);
  const double least = static_cast<double>(block_cache_->GetPinnedUsage()) + kLeastCachedBlocks * full;
  block_cache_->SetCapacity(static_cast<size_t>(std::min(full, std::max(cache_share_ * full, least))));
}

Status RocksDbProbe::Flush() {
  const MutexLock change(change_mutex_);
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return Closed();
    db = db_;
    for (const Family& f : families_) handles.push_back(f.handle);
  }
  return FlushAll(db, handles);
}

Status RocksDbProbe::FlushLargest() {
  const MutexLock change(change_mutex_);
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> largest;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return Closed();
    db = db_;
    buffers_.MakeRoom(KeptBytes());
    largest = LargestFamilies();
  }
  return FlushAll(db, largest);
}

// Each call of DB::Flush stands behind the writers that are on their way into the database, and lets them all pass.
// While a flush runs and frees memory anyway, none is started: behind a slow disk, one a second would let ever more
// writers pass, and the memory would grow without a limit.
std::vector<rocksdb::ColumnFamilyHandle*> RocksDbProbe::LargestFamilies() {
  uint64_t running = 0;
  if (db_->GetIntProperty(Properties::kNumRunningFlushes, &running) && running > 0) return {};
  std::vector<std::pair<uint64_t, rocksdb::ColumnFamilyHandle*>> by_size;
  uint64_t unflushed_bytes = 0;
  for (const Family& f : families_) {
    // RocksDB has accepted a flush of this family. If the family was dropped, the flush never begins.
    uint64_t pending = 0;
    if (db_->GetIntProperty(f.handle, Properties::kMemTableFlushPending, &pending) && pending > 0) continue;
    uint64_t bytes = 0;
    if (!db_->GetIntProperty(f.handle, Properties::kCurSizeAllMemTables, &bytes)) continue;
    by_size.emplace_back(bytes, f.handle);
    unflushed_bytes += bytes;
  }
  std::sort(by_size.rbegin(), by_size.rend());
  std::vector<rocksdb::ColumnFamilyHandle*> largest;
  double freed = 0;
  for (const auto& [bytes, handle] : by_size) {
    if (!flushes_together_ && freed >= kFreedShare * static_cast<double>(unflushed_bytes)) break;
    largest.push_back(handle);
    freed += static_cast<double>(bytes);
  }
  return largest;
}

Status RocksDbProbe::FlushAll(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  if (handles.empty()) return Status();
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  return buffers_.WithoutLimit([&] {
    if (flushes_together_) {
      const rocksdb::Status status = db->Flush(options, handles);
      return status.ok() ? Status() : Status::Error(status.ToString());
    }
    // A family that refuses to flush, because its writes are stopped, must not keep the others from flushing.
    std::string refused;
    for (auto* handle : handles) {
      const rocksdb::Status status = db->Flush(options, handle);
      if (!status.ok()) refused += (refused.empty() ? "" : "; ") + handle->GetName() + ": " + status.ToString();
    }
    return refused.empty() ? Status() : Status::Error(refused);
  });
}

// The first figure is read first, because a flush that ends in between must not count as memory that is kept.
uint64_t RocksDbProbe::KeptBytes() const {
  uint64_t unflushed = 0;
  uint64_t all = 0;
  if (!db_->GetAggregatedIntProperty(Properties::kCurSizeAllMemTables, &unflushed) ||
      !db_->GetAggregatedIntProperty(Properties::kSizeAllMemTables, &all)) {
    return 0;
  }
  return all - std::min(all, unflushed);
}

}  // namespace weir
