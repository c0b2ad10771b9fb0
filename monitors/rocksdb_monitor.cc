#include "monitors/rocksdb_monitor.h"

#include <utility>

#include "config/settings.h"
#include "monitors/rocksdb_probe.h"

namespace weir {
namespace {

std::unique_ptr<LoadProbe> MakeProbe(rocksdb::DB* db, RocksDbMonitor::Handles handles, const PreparedRocksDb* prepared,
                                     uint64_t target_bytes, const RocksDbMonitorSettings& settings) {
  if (handles.empty()) handles.push_back(db->DefaultColumnFamily());
  return std::make_unique<RocksDbProbe>(db, handles, prepared, target_bytes, settings);
}

}  // namespace

void Declare(SettingTable& table, RocksDbMonitorSettings& s) {
  Declare(table, s.monitor);
  table.Add("RATE_LIMIT_ROCKSDB_L0_THRESHOLD", &s.l0_threshold, {.min = 1, .max = 10'000, .unit = "files"},
            "files in level 0 above which the monitor advises to slow writes");
  table.ForEmbedding("RATE_LIMIT_ROCKSDB_L0_THRESHOLD");
  table.Add("RATE_LIMIT_ROCKSDB_SCORE_THRESHOLD", &s.score_threshold, {.min = 0.1, .max = 100, .unit = "score"},
            "compaction score of the levels below 0 that counts as full load");
  table.Add("RATE_LIMIT_OWN_BUDGET_MB", &s.own_budget_mb, {.min = 0, .max = 1 << 24, .unit = "MiB"},
            "memory for queues and buffers of the program itself; 0: an eighth of the memory target");
}

RocksDbMonitor::RocksDbMonitor(rocksdb::DB* db, Handles handles, const PreparedRocksDb& prepared,
                               const RocksDbMonitorSettings& settings, const Clock& clock)
    : LoadMonitor(MakeProbe(db, std::move(handles), &prepared, prepared.target_bytes, settings), settings.monitor,
                  clock),
      rocksdb_(static_cast<RocksDbProbe&>(probe())) {}

RocksDbMonitor::RocksDbMonitor(rocksdb::DB* db, Handles handles, uint64_t memory_target_bytes,
                               const RocksDbMonitorSettings& settings, const Clock& clock)
    : LoadMonitor(MakeProbe(db, std::move(handles), nullptr, memory_target_bytes, settings), settings.monitor, clock),
      rocksdb_(static_cast<RocksDbProbe&>(probe())) {}

void RocksDbMonitor::Detach() { rocksdb_.Detach(); }
void RocksDbMonitor::AddOwnBytes(int64_t bytes, OwnUse use) { rocksdb_.own().Add(bytes, use); }
uint64_t RocksDbMonitor::own_budget_bytes() const { return rocksdb_.own().budget_bytes(); }
RocksDbDetails RocksDbMonitor::Details() const { return rocksdb_.Details(); }

}  // namespace weir
