// Counts how often RocksDB braked by itself, and lets compactions yield the processor. The database and the monitor
// share it, so either may go first.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "rocksdb/listener.h"

namespace weir {

class RocksDbListener final : public rocksdb::EventListener {
 public:
  // No write waits for a compaction while a limiter keeps writes to the pace of compactions. On two full cores (ZSTD,
  // on a fast disk) this value made an interactive write's p99 fall from 5.1 to 3.6 ms, and bulk work lost nothing.
  // With 10 it was 3.1, but beside two other busy programs bulk work did 20 % less; with this value it did 9 % less.
  static constexpr int kCompactionNice = 5;

  explicit RocksDbListener(int compaction_nice = 0) : compaction_nice_(compaction_nice) {}

  // Call it before the database is opened. It is for a program whose own threads are nice and go ahead of compactions.
  void SetCompactionNice(int nice) { compaction_nice_ = nice; }

  // Called under the database's mutex, so it only counts.
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    const rocksdb::WriteStallCondition now = info.condition.cur;
    if (now == rocksdb::WriteStallCondition::kDelayed) slowdowns_.fetch_add(1, std::memory_order_relaxed);
    if (now == rocksdb::WriteStallCondition::kStopped) stops_.fetch_add(1, std::memory_order_relaxed);
  }

  // Acts in RocksDB's own threads alone, for a program may compact in one of its own. They keep the nice value, for it
  // takes a privilege to lower it again.
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

  uint64_t slowdowns() const { return slowdowns_.load(std::memory_order_relaxed); }
  uint64_t stops() const { return stops_.load(std::memory_order_relaxed); }

 private:
  int compaction_nice_;
  std::atomic<uint64_t> slowdowns_{0};
  std::atomic<uint64_t> stops_{0};
};

}  // namespace weir
