#include "monitors/rocksdb_monitor.h"

#include <stdexcept>
#include <utility>

#include "config/settings.h"
#include "monitors/rocksdb_opened.h"
#include "monitors/rocksdb_probe.h"

namespace weir {
namespace {

std::unique_ptr<LoadProbe> MakeProbe(rocksdb::DB* db, RocksDbMonitor::Handles handles, const PreparedRocksDb* prepared,
                                     uint64_t target_bytes, const RocksDbMonitorSettings& settings) {
  if (db != nullptr && handles.empty()) handles.push_back(db->DefaultColumnFamily());
  Status good = Check(settings);
  if (good.ok()) good = CheckOpened(db, handles, prepared, target_bytes);
  if (!good.ok()) throw std::invalid_argument(good.message());
  return std::make_unique<RocksDbProbe>(db, handles, prepared, target_bytes, settings);
}

// Calls `each` for every setting of RocksDB, with its name, the member that holds it, a pointer to it, its range and
// its meaning.
template <typename Settings, typename Each>
void ForEachSetting(Settings& s, const Each& each) {
  each("RATE_LIMIT_ROCKSDB_L0_THRESHOLD", "l0_threshold", &s.l0_threshold, {.min = 1, .max = 10'000, .unit = "files"},
       "files in level 0 above which the monitor advises to slow writes");
  each("RATE_LIMIT_ROCKSDB_SCORE_THRESHOLD", "score_threshold", &s.score_threshold,
       {.min = 0.1, .max = 100, .unit = "score"}, "compaction score of the levels below 0 that counts as full load");
  each("RATE_LIMIT_OWN_BUDGET_MB", "own_budget_mb", &s.own_budget_mb, {.min = 0, .max = 1 << 24, .unit = "MiB"},
       "memory for queues and buffers of the program itself; 0: an eighth of the memory target");
}

}  // namespace

void Declare(SettingTable& table, RocksDbMonitorSettings& settings) {
  Declare(table, settings.monitor);
  ForEachSetting(settings, [&](const char* name, const char*, auto* variable, const NumberRange& range,
                               const char* meaning) { table.Add(name, variable, range, meaning); });
  table.ForEmbedding("RATE_LIMIT_ROCKSDB_L0_THRESHOLD");
}

Status Check(const RocksDbMonitorSettings& settings) {
  Status checked = Check(settings.monitor);
  ForEachSetting(settings,
                 [&](const char*, const char* member, const auto* variable, const NumberRange& range, const char*) {
                   if (checked.ok()) checked = CheckRange(member, static_cast<double>(*variable), range);
                 });
  return checked;
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
bool RocksDbMonitor::attached() const { return rocksdb_.attached(); }
Status RocksDbMonitor::AddFamily(rocksdb::ColumnFamilyHandle* family) { return rocksdb_.AddFamily(family); }
Status RocksDbMonitor::RemoveFamily(rocksdb::ColumnFamilyHandle* family) { return rocksdb_.RemoveFamily(family); }
Status RocksDbMonitor::MoveBrakes() { return rocksdb_.PlaceBrakes(true); }
Status RocksDbMonitor::GiveBrakesBack() { return rocksdb_.PlaceBrakes(false); }
void RocksDbMonitor::AddOwnBytes(int64_t bytes, OwnUse use) { rocksdb_.own().Add(bytes, use); }
uint64_t RocksDbMonitor::own_budget_bytes() const { return rocksdb_.own().budget_bytes(); }
RocksDbDetails RocksDbMonitor::Details() const { return rocksdb_.Details(); }

}  // namespace weir
