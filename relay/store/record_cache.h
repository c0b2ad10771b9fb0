// RecordCache: caches records (relay/nostr/event.h) that were read from the database, by serial. It keeps them in
// RocksDB's block cache, so the size limit of that cache covers the records, too.
//
// Without this cache, finding a record in a cached block takes 2 µs, because RocksDB searches every level of its tree
// and then the block. In this cache it takes 0.2 to 0.3 µs. Records need not be removed when their events are deleted:
// a serial is assigned only once, the record of a serial never changes, and queries look only for serials that are in
// the index.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "monitors/rocksdb_version.h"

namespace weir {

class RecordCache {
 public:
  // If `cache` is null, nothing is cached.
  explicit RecordCache(std::shared_ptr<rocksdb::Cache> cache);

  // Keeps a record in the cache while the pin lives. The pin converts to false if the record is not in the cache;
  // record() must not be called then. The RecordCache must outlive the pin.
  class Pin {
   public:
    Pin() = default;
    Pin(rocksdb::Cache* cache, rocksdb::Cache::Handle* handle) : cache_(cache), handle_(handle) {}
    Pin(Pin&& other) noexcept : cache_(other.cache_), handle_(std::exchange(other.handle_, nullptr)) {}
    Pin& operator=(Pin&& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(handle_, other.handle_);
      return *this;
    }
    ~Pin() {
      if (handle_ != nullptr) cache_->Release(handle_);
    }

    explicit operator bool() const { return handle_ != nullptr; }
    std::string_view record() const;

   private:
    rocksdb::Cache* cache_ = nullptr;
    rocksdb::Cache::Handle* handle_ = nullptr;
  };

  Pin Find(uint64_t serial) const;
  // Copies a record into the cache, which may drop it at any time.
  void Keep(uint64_t serial, std::string_view record) const;
  // Returns the serials of the records in the cache, ascending. Goes through the whole cache, with the blocks.
  std::vector<uint64_t> Serials() const;

 private:
  using CacheKey = std::array<char, 16>;  // has the length of the block keys of RocksDB
  CacheKey KeyOf(uint64_t serial) const;

  std::shared_ptr<rocksdb::Cache> cache_;
  uint64_t partition_ = 0;  // the first half of all keys of this object; no other user of cache_ has it
};

}  // namespace weir
