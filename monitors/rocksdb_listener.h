// RocksDbListener: counts how often RocksDB slows down or stops writes by itself, tells monitors when a handle of a
// column family is deleted, and gives RocksDB's compaction threads a lower priority. The database and the monitor share
// the listener, so either may be destroyed first. In the options of a database, the listener also shows which objects
// weir added to them.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "rocksdb/cache.h"
#include "rocksdb/listener.h"
#include "rocksdb/write_buffer_manager.h"

namespace weir {

class RocksDbListener final : public rocksdb::EventListener {
 public:
  // The nice value for compactions if a limiter keeps writes at the pace of compactions, so that no write waits for a
  // compaction. On two full cores (ZSTD, on a fast disk) this value made an interactive write's p99 fall from 5.1 to
  // 3.6 ms, and bulk work lost nothing. With a value of 10 the p99 was 3.1 ms, but beside two other busy programs bulk
  // work did 20 % less; with this value it did 9 % less.
  static constexpr int kCompactionNice = 5;

  // The objects that PrepareRocksDb made for the options in which this listener is; null: the program's own are used.
  struct Made {
    std::shared_ptr<rocksdb::Cache> block_cache;
    std::shared_ptr<rocksdb::WriteBufferManager> write_buffer_manager;
  };

  // With a `compaction_nice` of 0 compactions keep their priority.
  explicit RocksDbListener(int compaction_nice = 0, Made made = {})
      : compaction_nice_(compaction_nice), made_(std::move(made)) {}

  const Made& made() const { return made_; }

  // Makes the listener call `deleted` before RocksDB deletes a handle of a column family. RocksDB also does this for
  // the handle that DB::DefaultColumnFamily returns, when the database is closed. `watcher` identifies the call for
  // RemoveWatcher, which waits until a call of `deleted` that is running has returned.
  void AddWatcher(const void* watcher, std::function<void(rocksdb::ColumnFamilyHandle*)> deleted) {
    const MutexLock lock(watchers_mutex_);
    watchers_[watcher] = std::move(deleted);
  }
  void RemoveWatcher(const void* watcher) {
    const MutexLock lock(watchers_mutex_);
    watchers_.erase(watcher);
  }

  // RocksDB calls this in the thread that deletes the handle, without a mutex of the database.
  void OnColumnFamilyHandleDeletionStarted(rocksdb::ColumnFamilyHandle* handle) override {
    if (birth_.IsForked()) return;
    const MutexLock lock(watchers_mutex_);
    for (const auto& [watcher, deleted] : watchers_) deleted(handle);
  }

  // The bytes on disk that flushes of a column family have written. RocksDB's own counters also have files that the
  // program ingested.
  struct Flushed {
    double table_bytes = 0;
    double blob_bytes = 0;
  };
  Flushed FlushedOf(uint32_t family) const {
    const MutexLock lock(flushed_mutex_);
    const auto found = flushed_.find(family);
    return found == flushed_.end() ? Flushed() : found->second;
  }
  // RocksDB calls this in the thread that flushes, without a mutex of the database.
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override {
    const rocksdb::TableProperties& table = info.table_properties;
    const MutexLock lock(flushed_mutex_);
    Flushed& flushed = flushed_[info.cf_id];
    flushed.table_bytes += static_cast<double>(table.data_size + table.index_size + table.filter_size);
    for (const auto& blob : info.blob_file_addition_infos)
      flushed.blob_bytes += static_cast<double>(blob.total_blob_bytes);
  }

  // RocksDB calls this with the mutex of the database held, so it only counts.
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    const rocksdb::WriteStallCondition now = info.condition.cur;
    if (now != rocksdb::WriteStallCondition::kNormal) {
      const MutexLock lock(braked_mutex_);
      braked_family_ = info.cf_name;
    }
    if (now == rocksdb::WriteStallCondition::kDelayed) slowdowns_.fetch_add(1, std::memory_order_relaxed);
    if (now == rocksdb::WriteStallCondition::kStopped) stops_.fetch_add(1, std::memory_order_relaxed);
  }

  // RocksDB calls this in the thread that compacts. The function sets the nice value of RocksDB's own threads only,
  // because a program may compact in a thread of its own. The function does not restore the old nice value afterwards,
  // because only a privileged process may lower it.
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    if (compaction_nice_ == 0) return;
    thread_local const bool is_rocksdbs = [] {
      char name[16] = "";
      pthread_getname_np(pthread_self(), name, sizeof name);
      return std::string_view(name).starts_with("rocksdb:");
    }();
    const auto thread = static_cast<id_t>(gettid());
    if (is_rocksdbs && getpriority(PRIO_PROCESS, thread) < compaction_nice_)
      setpriority(PRIO_PROCESS, thread, compaction_nice_);
  }

  // These return how often a column family began to slow writes down, and to stop them.
  uint64_t slowdowns() const { return slowdowns_.load(std::memory_order_relaxed); }
  uint64_t stops() const { return stops_.load(std::memory_order_relaxed); }
  // Returns the name of the column family that braked last; empty if none did.
  std::string braked_family() const {
    const MutexLock lock(braked_mutex_);
    return braked_family_;
  }

 private:
  const BirthProcess birth_;
  const int compaction_nice_;
  const Made made_;
  mutable Mutex braked_mutex_;  // an innermost mutex: the mutex of the database may be held
  std::string braked_family_ WEIR_GUARDED_BY(braked_mutex_);
  mutable Mutex flushed_mutex_;
  std::map<uint32_t, Flushed> flushed_ WEIR_GUARDED_BY(flushed_mutex_);
  Mutex watchers_mutex_;
  std::map<const void*, std::function<void(rocksdb::ColumnFamilyHandle*)>> watchers_ WEIR_GUARDED_BY(watchers_mutex_);
  std::atomic<uint64_t> slowdowns_{0};
  std::atomic<uint64_t> stops_{0};
};

}  // namespace weir
