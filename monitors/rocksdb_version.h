// The code that differs between the versions of RocksDB that weir builds with, from 7.8 on. monitors/README.md lists
// the differences that no compiler reports: defaults, and names of counters.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "rocksdb/db.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR >= 8
#include "rocksdb/advanced_cache.h"
#else
#include "rocksdb/cache.h"
#endif

// True if the RocksDB of this build is of the version `major`.`minor` or later, for #if.
#define WEIR_ROCKSDB_FROM(major, minor) \
  (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

namespace weir {

// OpenedRocksDb is the type of pointer that DB::Open fills in. OwnerOf returns the owner of the opened database; call
// it only once.
#if ROCKSDB_MAJOR >= 10
using OpenedRocksDb = std::unique_ptr<rocksdb::DB>;
inline std::unique_ptr<rocksdb::DB> OwnerOf(OpenedRocksDb* opened) { return std::move(*opened); }
#else
using OpenedRocksDb = rocksdb::DB*;
inline std::unique_ptr<rocksdb::DB> OwnerOf(OpenedRocksDb* opened) { return std::unique_ptr<rocksdb::DB>(*opened); }
#endif

// Returns max_write_buffer_number_to_maintain; 0 if RocksDB has this option no more.
template <typename Options>
int BuffersToMaintain(const Options& options) {
  if constexpr (requires { options.max_write_buffer_number_to_maintain; }) {
    return options.max_write_buffer_number_to_maintain;
  } else {
    return 0;
  }
}

// Inserts `bytes`, an array of `charge` chars made by new[], into the cache. The cache owns the array and deletes it
// when it evicts the entry.
inline void InsertBytes(rocksdb::Cache* cache, const rocksdb::Slice& key, char* bytes, size_t charge) {
#if ROCKSDB_MAJOR >= 8
  static const rocksdb::Cache::CacheItemHelper kBytes(
      rocksdb::CacheEntryRole::kMisc,
      [](rocksdb::Cache::ObjectPtr value, rocksdb::MemoryAllocator*) { delete[] static_cast<char*>(value); });
  cache->Insert(key, bytes, &kBytes, charge).PermitUncheckedError();
#else
  const auto remove = [](const rocksdb::Slice&, void* value) { delete[] static_cast<char*>(value); };
  cache->Insert(key, bytes, charge, remove).PermitUncheckedError();
#endif
}

}  // namespace weir
