// WalSync: a thread that syncs RocksDB's write-ahead log to disk, for WEIR_DB_SYNC=interval. It sleeps while nothing is
// written.
#pragma once

#include <chrono>
#include <thread>

#include "config/mutex.h"
#include "rocksdb/db.h"

namespace weir {

class WalSync {
 public:
  // Starts the thread. `db` must outlive the object.
  WalSync(rocksdb::DB* db, std::chrono::milliseconds interval);
  // Ends the thread. The last writes may not be synced.
  ~WalSync();
  WalSync(const WalSync&) = delete;
  WalSync& operator=(const WalSync&) = delete;

  // Notes that the log was written to. The thread syncs it once the interval has passed; if the sync fails, it tries
  // again after another interval. May be called from any thread.
  void Written();

 private:
  void Run();

  rocksdb::DB* const db_;
  const std::chrono::milliseconds interval_;
  Mutex mutex_;
  Condition changed_;
  bool written_ WEIR_GUARDED_BY(mutex_) = false;  // there are writes that are not synced
  bool stop_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir
