// Counts how often RocksDB braked by itself. Shared by the database and the monitor, so either may go first.
#pragma once

#include <atomic>
#include <cstdint>

#include "rocksdb/listener.h"

namespace weir {

class RocksDbListener final : public rocksdb::EventListener {
 public:
  // Called under the database's mutex: only counts.
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    const rocksdb::WriteStallCondition now = info.condition.cur;
    if (now == rocksdb::WriteStallCondition::kDelayed) slowdowns_.fetch_add(1, std::memory_order_relaxed);
    if (now == rocksdb::WriteStallCondition::kStopped) stops_.fetch_add(1, std::memory_order_relaxed);
  }

  uint64_t slowdowns() const { return slowdowns_.load(std::memory_order_relaxed); }
  uint64_t stops() const { return stops_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> slowdowns_{0};
  std::atomic<uint64_t> stops_{0};
};

}  // namespace weir
