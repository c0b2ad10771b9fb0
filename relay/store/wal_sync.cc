#include "relay/store/wal_sync.h"

namespace weir {

WalSync::WalSync(rocksdb::DB* db, std::chrono::milliseconds interval)
    : db_(db), interval_(interval), thread_([this] { Run(); }) {}

WalSync::~WalSync() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WalSync::Written() {
  const std::lock_guard lock(mutex_);
  if (!written_) changed_.notify_one();
  written_ = true;
}

void WalSync::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [this] { return written_ || stop_; });
    // Writes that are made during this wait share the sync.
    changed_.wait_for(lock, interval_, [this] { return stop_; });
    if (!written_) continue;
    written_ = false;
    lock.unlock();
    const bool synced = db_->SyncWAL().ok();
    lock.lock();
    // If the disk fails, the next save gets RocksDB's error; this thread only tries to sync again.
    if (!synced && !stop_) written_ = true;
  }
}

}  // namespace weir
