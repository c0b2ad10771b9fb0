#include "relay/store/wal_sync.h"

namespace weir {

WalSync::WalSync(rocksdb::DB* db, std::chrono::milliseconds interval)
    : db_(db), interval_(interval), thread_([this] { Run(); }) {}

WalSync::~WalSync() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WalSync::Written() {
  const MutexLock lock(mutex_);
  if (!written_) changed_.notify_one();
  written_ = true;
}

void WalSync::Run() {
  MutexLock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return written_ || stop_; });
    // Writes that are made during this wait share the sync.
    changed_.wait_for(lock, interval_, [this]() WEIR_REQUIRES(mutex_) { return stop_; });
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
