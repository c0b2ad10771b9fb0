#include "bench/storm/engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace weir {
namespace {

namespace fs = std::filesystem;
using Properties = rocksdb::DB::Properties;

constexpr int64_t kRefillMicroseconds = 10'000;
constexpr size_t kKeyBytes = 16;

Status FromRocksDb(const std::string& doing, const rocksdb::Status& status) {
  return status.ok() ? Status() : Status::Error(doing + ": " + status.ToString());
}

// Tables never change, so they are shared; the rest of a database is small.
Status CopyDatabase(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path target = to / entry.path().filename();
    if (entry.path().extension() == ".sst") {
      fs::create_hard_link(entry.path(), target, error);
    } else {
      fs::copy_file(entry.path(), target, error);
    }
    if (error) break;
  }
  if (!error) return Status();
  return Status::Error("copy " + from.string() + " to " + to.string() + ": " + error.message());
}

}  // namespace

StormGeometry ScaledStorm(double scale) {
  const auto scaled = [scale](auto x) { return static_cast<decltype(x)>(static_cast<double>(x) * scale); };
  StormGeometry g;
  g.scale = scale;
  g.keys = scaled(g.keys);
  g.preloaded_values = scaled(g.preloaded_values);
  g.disk_bytes_per_second = scaled(g.disk_bytes_per_second);
  g.memory_target_bytes = scaled(g.memory_target_bytes);
  return g;
}

static rocksdb::Options EngineOptions(const StormGeometry& geometry, std::shared_ptr<rocksdb::RateLimiter> disk) {
  const auto mebibytes = [&geometry](double n) { return static_cast<uint64_t>(n * geometry.scale * (1 << 20)); };
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = mebibytes(4);
  options.max_write_buffer_number = 4;
  options.level0_file_num_compaction_trigger = 4;
  options.level0_slowdown_writes_trigger = 12;
  options.level0_stop_writes_trigger = 20;
  options.max_bytes_for_level_base = mebibytes(32);
  options.target_file_size_base = mebibytes(4);
  options.soft_pending_compaction_bytes_limit = mebibytes(512);
  options.hard_pending_compaction_bytes_limit = mebibytes(2048);
  options.max_background_jobs = 2;
  options.rate_limiter = std::move(disk);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(mebibytes(32));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::string StormKey(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kKeyBytes - std::min(kKeyBytes, digits.size()), '0') + digits;
}

Status MakeTemplate(const StormGeometry& geometry, const fs::path& path) {
  rocksdb::Options options = EngineOptions(geometry, nullptr);
  options.create_if_missing = true;
  options.error_if_exists = true;
  rocksdb::DB* opened = nullptr;
  if (Status s = FromRocksDb("open " + path.string(), rocksdb::DB::Open(options, path.string(), &opened)); !s.ok())
    return s;
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::mt19937_64 random(7);
  std::string value(geometry.value_bytes, '\0');
  for (uint64_t i = 0; i < geometry.preloaded_values; ++i) {
    for (char& c : value) c = static_cast<char>(random());
    if (Status s = FromRocksDb("preload", db->Put({}, StormKey(random() % geometry.keys), value)); !s.ok()) return s;
  }
  if (Status s = FromRocksDb("flush", db->Flush({})); !s.ok()) return s;
  return FromRocksDb("compact", db->CompactRange({}, nullptr, nullptr));
}

StormEngine::Options StormEngine::DefaultOptions(const StormGeometry& geometry) {
  Options options;
  options.disk.reset(rocksdb::NewGenericRateLimiter(geometry.disk_bytes_per_second, kRefillMicroseconds));
  options.rocksdb = EngineOptions(geometry, options.disk);
  return options;
}

Result<std::unique_ptr<StormEngine>> StormEngine::Open(const StormGeometry& geometry, Options options,
                                                       const fs::path& template_path, const fs::path& parent) {
  auto directory = TemporaryDirectory::Make(parent, "weir-storm");
  if (!directory.ok()) return directory.status();
  std::unique_ptr<StormEngine> engine(new StormEngine);
  engine->geometry_ = geometry;
  engine->directory_ = std::move(directory).value();
  engine->disk_ = options.disk;
  engine->buffers_ = options.rocksdb.write_buffer_manager;
  const fs::path& path = engine->directory_->path();
  if (Status s = CopyDatabase(template_path, path); !s.ok()) return s;

  std::optional<PreparedRocksDb> prepared;
  if (options.move_brakes) {
    Result<PreparedRocksDb> result = PrepareRocksDb(geometry.memory_target_bytes, &options.rocksdb);
    if (!result.ok()) return result.status();
    prepared = std::move(result).value();
  }
  rocksdb::DB* db = nullptr;
  if (Status s = FromRocksDb("open " + path.string(), rocksdb::DB::Open(options.rocksdb, path.string(), &db)); !s.ok())
    return s;
  engine->db_.reset(db);
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  engine->monitor_ = prepared ? std::make_unique<RocksDbMonitor>(db, Handles{}, *prepared)
                              : std::make_unique<RocksDbMonitor>(db, Handles{}, geometry.memory_target_bytes);
  return engine;
}

void StormEngine::SetDisk(double share_of_full) {
  disk_->SetBytesPerSecond(static_cast<int64_t>(static_cast<double>(geometry_.disk_bytes_per_second) * share_of_full));
}

uint64_t StormEngine::Property(const std::string& name) const {
  uint64_t value = 0;
  db_->GetIntProperty(name, &value);
  return value;
}

bool StormEngine::Braking() const {
  return (buffers_ && buffers_->IsStallActive()) || Property(Properties::kIsWriteStopped) != 0 ||
         Property(Properties::kActualDelayedWriteRate) != 0;
}

Status StormEngine::BeginToSettle() {
  rocksdb::FlushOptions without_waiting;
  without_waiting.wait = false;
  without_waiting.allow_write_stall = true;
  // While writes are stopped it has enough to flush, and says so.
  const rocksdb::Status flushed = db_->Flush(without_waiting);
  if (!flushed.ok() && !flushed.IsTryAgain()) return FromRocksDb("flush", flushed);
  return FromRocksDb("settle", db_->SetOptions({{"level0_file_num_compaction_trigger", "1"}}));
}

bool StormEngine::Settled() const {
  return Property(Properties::kNumRunningCompactions) == 0 && Property(Properties::kCompactionPending) == 0 &&
         Property(Properties::kMemTableFlushPending) == 0 && Property(Properties::kNumRunningFlushes) == 0;
}

}  // namespace weir
