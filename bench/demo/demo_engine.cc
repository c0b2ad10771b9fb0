#include "bench/demo/demo_engine.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/table.h>

#include <cstdlib>
#include <random>
#include <string>

namespace weir {
namespace {

constexpr int64_t kDiskBytesPerSecond = 32 << 20;
constexpr int64_t kUnlimitedBytesPerSecond = 4ll << 30;
constexpr uint64_t kMemoryTarget = 256 << 20;

rocksdb::Options EngineOptions(std::shared_ptr<rocksdb::RateLimiter> disk) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 1 << 20;
  options.max_write_buffer_number = 4;
  options.level0_file_num_compaction_trigger = 4;
  options.level0_slowdown_writes_trigger = 12;
  options.level0_stop_writes_trigger = 20;
  options.max_bytes_for_level_base = 8 << 20;
  options.target_file_size_base = 1 << 20;
  options.soft_pending_compaction_bytes_limit = 128ull << 20;
  options.hard_pending_compaction_bytes_limit = 512ull << 20;
  options.max_background_jobs = 2;
  options.rate_limiter = std::move(disk);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(32 << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

Status FromRocksDb(const std::string& doing, const rocksdb::Status& status) {
  return status.ok() ? Status() : Status::Error(doing + ": " + status.ToString());
}

}  // namespace

Result<std::unique_ptr<DemoEngine>> DemoEngine::Open(const std::filesystem::path& parent, bool prepared) {
  std::string name = (parent / "weir-demo-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return Status::Error("cannot make a directory in " + parent.string());
  std::unique_ptr<DemoEngine> engine(new DemoEngine);
  engine->path_ = name;
  engine->disk_.reset(rocksdb::NewGenericRateLimiter(kDiskBytesPerSecond, 10'000));

  rocksdb::Options options = EngineOptions(engine->disk_);
  std::optional<PreparedRocksDb> preparation;
  if (prepared) {
    Result<PreparedRocksDb> result = PrepareRocksDb(kMemoryTarget, &options);
    if (!result.ok()) return result.status();
    preparation = std::move(result).value();
  }
  rocksdb::DB* db = nullptr;
  if (Status s = FromRocksDb("open " + name, rocksdb::DB::Open(options, name, &db)); !s.ok()) return s;
  engine->db_.reset(db);
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  engine->monitor_ = prepared ? std::make_unique<RocksDbMonitor>(db, Handles{}, *preparation)
                              : std::make_unique<RocksDbMonitor>(db, Handles{}, kMemoryTarget);
  return engine;
}

DemoEngine::~DemoEngine() {
  monitor_.reset();
  db_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status DemoEngine::Preload(const WorkloadOptions& workload) {
  disk_->SetBytesPerSecond(kUnlimitedBytesPerSecond);
  std::mt19937_64 random(7);
  std::string value(workload.value_bytes, '\0');
  for (uint64_t i = 0; i < workload.keys; ++i) {
    for (char& c : value) c = static_cast<char>(random());
    const std::string key = WorkloadKey(random() % workload.keys);
    if (Status s = FromRocksDb("preload", db_->Put({}, key, value)); !s.ok()) return s;
  }
  if (Status s = FromRocksDb("flush", db_->Flush({})); !s.ok()) return s;
  if (Status s = FromRocksDb("compact", db_->CompactRange({}, nullptr, nullptr)); !s.ok()) return s;
  disk_->SetBytesPerSecond(kDiskBytesPerSecond);
  return Status();
}

bool DemoEngine::Braking() const {
  uint64_t stopped = 0;
  uint64_t delayed_rate = 0;
  db_->GetIntProperty(rocksdb::DB::Properties::kIsWriteStopped, &stopped);
  db_->GetIntProperty(rocksdb::DB::Properties::kActualDelayedWriteRate, &delayed_rate);
  return stopped != 0 || delayed_rate != 0;
}

}  // namespace weir
