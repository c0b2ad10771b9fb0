#include "monitors/rocksdb_listener.h"

namespace weir {

void RocksDbListener::OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) {
  using rocksdb::WriteStallCondition;
  const WriteStallCondition now = info.condition.cur;
  if (now == WriteStallCondition::kDelayed) slowdowns_.fetch_add(1, std::memory_order_relaxed);
  if (now == WriteStallCondition::kStopped) stops_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir
