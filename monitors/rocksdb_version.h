// The code that differs between the versions of RocksDB that weir builds with, from 7.8 on. monitors/README.md lists
// the differences that no compiler reports: defaults, and names of counters.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
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

// The counters of writes that were delayed or stopped, in the map of the property "rocksdb.cfstats". RocksDB has them
// as `key_since_8_1` from 8.1 on, and as io_stalls.<name> before. weir uses the older names, which dashboards and
// alerts know.
struct StallCounter {
  std::string_view name;
  std::string_view key_since_8_1;
};
inline constexpr StallCounter kStallCounters[] = {
    {"total_slowdown", "total-delays"},
    {"total_stop", "total-stops"},
    {"memtable_slowdown", "memtable-limit-delays"},
    {"memtable_compaction", "memtable-limit-stops"},
    {"level0_slowdown", "l0-file-count-limit-delays"},
    {"level0_numfiles", "l0-file-count-limit-stops"},
    {"level0_slowdown_with_compaction", "cf-l0-file-count-limit-delays-with-ongoing-compaction"},
    {"level0_numfiles_with_compaction", "cf-l0-file-count-limit-stops-with-ongoing-compaction"},
    {"slowdown_for_pending_compaction_bytes", "pending-compaction-bytes-delays"},
    {"stop_for_pending_compaction_bytes", "pending-compaction-bytes-stops"}};

}  // namespace weir
