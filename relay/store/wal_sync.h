// WalSync: syncs the write-ahead log every now and then, for WEIR_DB_SYNC=interval. Its thread sleeps while nothing is
// written.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "rocksdb/db.h"

namespace weir {

class WalSync {
 public:
  WalSync(rocksdb::DB* db, std::chrono::milliseconds interval);
  ~WalSync();
  WalSync(const WalSync&) = delete;
  WalSync& operator=(const WalSync&) = delete;

  // Tells that there is something to sync. It is synced within the interval.
  void Written();

 private:
  void Run();

  rocksdb::DB* const db_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool written_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace weir
