#include "relay/store/record_cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace weir {
namespace {

using Size = uint32_t;  // stands before the record

// Keep stores the size with release order when the record is complete; the thread that finds the record loads it with
// acquire order. The cache's own locks have the same effect, but the thread sanitizer does not see into RocksDB.
std::atomic_ref<Size> SizeOf(void* value) { return std::atomic_ref(*static_cast<Size*>(value)); }

}  // namespace

RecordCache::RecordCache(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {
  if (cache_) partition_ = cache_->NewId();
}

RecordCache::CacheKey RecordCache::KeyOf(uint64_t serial) const {
  CacheKey key;
  std::memcpy(key.data(), &partition_, sizeof partition_);
  std::memcpy(key.data() + sizeof partition_, &serial, sizeof serial);
  return key;
}

std::string_view RecordCache::Pin::record() const {
  void* const value = cache_->Value(handle_);
  return {static_cast<const char*>(value) + sizeof(Size), SizeOf(value).load(std::memory_order_acquire)};
}

RecordCache::Pin RecordCache::Find(uint64_t serial) const {
  if (!cache_) return {};
  const CacheKey key = KeyOf(serial);
  return {cache_.get(), cache_->Lookup({key.data(), key.size()})};
}

void RecordCache::Keep(uint64_t serial, std::string_view record) const {
  if (!cache_) return;
  const CacheKey key = KeyOf(serial);
  char* const value = new char[sizeof(Size) + record.size()];
  std::memcpy(value + sizeof(Size), record.data(), record.size());
  SizeOf(value).store(static_cast<Size>(record.size()), std::memory_order_release);
  InsertBytes(cache_.get(), {key.data(), key.size()}, value, sizeof(Size) + record.size());
}

// The cache calls the function while it holds the lock of a part of itself, so the function allocates no memory.
// Records that are added meanwhile may find no room.
std::vector<uint64_t> RecordCache::Serials() const {
  struct Found {
    std::string_view partition;
    std::vector<uint64_t> serials;
  };
  if (!cache_) return {};
  const CacheKey first = KeyOf(0);
  Found found{.partition = {first.data(), sizeof partition_}, .serials = {}};
  // A record has some 200 bytes at least.
  found.serials.reserve(cache_->GetUsage() / 128);
  cache_->ApplyToAllEntries(
      [&found](const rocksdb::Slice& key, auto&&...) {
        if (key.size() != sizeof(CacheKey) || !std::string_view(key.data(), key.size()).starts_with(found.partition))
          return;
        if (found.serials.size() == found.serials.capacity()) return;
        uint64_t serial = 0;
        std::memcpy(&serial, key.data() + found.partition.size(), sizeof serial);
        found.serials.push_back(serial);
      },
      {});
  std::ranges::sort(found.serials);
  found.serials.erase(std::unique(found.serials.begin(), found.serials.end()), found.serials.end());
  return std::move(found.serials);
}

}  // namespace weir
