// IdleMerge: makes RocksDB merge the files of level 0 into level 1 while none are added to level 0, so that queries
// have fewer files to search.
//
// RocksDB merges level 0 once it has a certain number of files (the trigger), because merging more files at a time
// rewrites less. If little is written, files may stay in level 0 for days. Seven files cost a REQ up to 18 % of its
// processor time, and merging them takes a second. So if five calls of Look in a row (one a minute) find level 0 of a
// column family unchanged, IdleMerge sets its trigger to 1 until the next call. RocksDB then merges the files at its
// own pace.
//
// Threads: used only by the thread that saves events (group_commit.h).
#pragma once

#include <cstdint>
#include <vector>

#include "config/status.h"
#include "relay/store/database.h"

namespace weir {

class IdleMerge {
 public:
  static constexpr int kQuietLooks = 5;  // level 0 is merged after this number of looks without a change

  // `database` must outlive the object and be open for writing.
  explicit IdleMerge(const Database& database);
  // Looks at level 0 of the column families `events` and `index`. The caller calls it once a minute. Returns an error
  // if RocksDB refuses the new trigger; the next look tries again.
  Status Look();

 private:
  struct Family {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    int usual_trigger = 0;        // the number of files in level 0 at which RocksDB usually merges them
    int trigger = 0;              // the trigger that is set now; 0: not known
    std::vector<uint64_t> files;  // the numbers of the files in level 0 at the last look
    int quiet_looks = 0;          // number of looks in a row that found the same files
  };
  Status Look(Family* family);
  Status SetTrigger(Family* family, int files);

  rocksdb::DB* const db_;
  std::vector<Family> families_;
};

}  // namespace weir
