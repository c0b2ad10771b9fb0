// Settle: waits until a store has no flush or compaction left to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "relay/store/rocksdb_store.h"
#include "rocksdb/db.h"

namespace weir {

inline Status Settle(RocksDbStore& store) {
  if (Status flushed = store.Flush(); !flushed.ok()) return flushed;
  uint64_t busy = 1;
  while (busy > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    busy = 0;
    for (rocksdb::ColumnFamilyHandle* family : store.families()) {
      for (const char* name : {"rocksdb.num-running-compactions", "rocksdb.compaction-pending"}) {
        uint64_t value = 0;
        store.db()->GetIntProperty(family, name, &value);
        busy += value;
      }
    }
  }
  return Status();
}

}  // namespace weir
