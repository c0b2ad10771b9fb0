// IdleMerge: merges level 0 into level 1 while nothing is added to it, so that questions pass fewer files.
//
// RocksDB waits for so many files in level 0 before it merges them, since the more wait the less is rewritten. Where
// little is written they wait for days: seven files cost a REQ 3 to 18 % of its processor time, and to merge them takes
// a second. So a family whose level 0 has not changed for five looks needs no more than one file until the next look.
// RocksDB merges it by a compaction of its own, with its priority and its pace.
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
  // To be called once a minute.
  Status Look();

 private:
  struct Family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    int usual_trigger = 0;
    int trigger = 0;     // RocksDB has this one now; 0: it is not known
    uint64_t files = 0;  // in level 0, at the last look
    int quiet_looks = 0;
  };
  Status Look(Family* family);
  Status SetTrigger(Family* family, int files);

  rocksdb::DB* const db_;
  std::vector<Family> families_;
};

}  // namespace weir
