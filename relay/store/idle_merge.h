// IdleMerge: merges level 0 into level 1 while nothing is added to it, so that queries pass fewer files.
//
// RocksDB waits for a number of files in level 0 before it merges them, because the more wait, the less is rewritten.
// If little is written they wait for days: seven files cost a REQ 3 to 18 % of its processor time, and merging them
// takes a second. So if a family's level 0 has not changed for five looks, RocksDB is told until the next look that one
// file is enough. It merges by a compaction of its own, with its own priority and pace.
//
// Used on the thread that saves.
#pragma once

#include <cstdint>
#include <vector>

#include "config/status.h"
#include "relay/store/database.h"

namespace weir {

class IdleMerge {
 public:
  static constexpr int kQuietLooks = 5;

  explicit IdleMerge(const Database& database);
  // Must be called once a minute.
  Status Look();

 private:
  struct Family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    int usual_trigger = 0;
    int trigger = 0;     // RocksDB has this one now; 0: not known
    uint64_t files = 0;  // in level 0, at the last look
    int quiet_looks = 0;
  };
  Status Look(Family* family);
  Status SetTrigger(Family* family, int files);

  rocksdb::DB* const db_;
  std::vector<Family> families_;
};

}  // namespace weir
