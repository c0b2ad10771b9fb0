// RecordCache: records that were read before, by serial. They are in RocksDB's block cache, whose size bounds them too.
//
// A record in a cached block takes 2 µs to find, by a search in every level of the tree and in the block; here it takes
// 0.2, whatever the tree is like. No record has to be removed: a serial is given once and its record never changes, and
// the index decides who may see it.
//
// Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "monitors/rocksdb_version.h"

namespace weir {

class RecordCache {
 public:
  // Keeps nothing if `cache` is null.
  explicit RecordCache(std::shared_ptr<rocksdb::Cache> cache);

  // Holds a record in the cache while it lives; false if the record is not there.
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
  void Keep(uint64_t serial, std::string_view record) const;

 private:
  using CacheKey = std::array<char, 16>;  // has the length of a block's key
  CacheKey KeyOf(uint64_t serial) const;

  std::shared_ptr<rocksdb::Cache> cache_;
  uint64_t partition_ = 0;  // begins each of the cache's keys
};

}  // namespace weir
