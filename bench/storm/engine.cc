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
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/storm/relay_events.h"
#include "monitors/rocksdb_version.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Properties = rocksdb::DB::Properties;

constexpr int64_t kRefillMicroseconds = 10'000;

Status FromRocksDb(const std::string& doing, const rocksdb::Status& status) {
  return status.ok() ? Status() : Status::Error(doing + ": " + status.ToString());
}

// Tables and blob files never change, so they are shared; the rest of a database is small.
Status CopyDatabase(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path target = to / entry.path().filename();
    if (entry.path().extension() == ".sst" || entry.path().extension() == ".blob") {
      fs::create_hard_link(entry.path(), target, error);
    } else {
      fs::copy_file(entry.path(), target, error);
    }
    if (error) break;
  }
  if (!error) return Status();
  return Status::Error("copy " + from.string() + " to " + to.string() + ": " + error.message());
}

rocksdb::Options EngineOptions(const StormShape& shape) {
  if (shape.relay) return {RelayDatabaseOptions(shape), {}};
  rocksdb::Options options;
  options.compression = shape.compress ? rocksdb::kZSTD : rocksdb::kNoCompression;
  options.write_buffer_size = Bytes(shape.write_buffer_mib);
  options.max_write_buffer_number = shape.write_buffers;
  options.level0_file_num_compaction_trigger = shape.l0_trigger;
  options.level0_slowdown_writes_trigger = shape.l0_slowdown;
  options.level0_stop_writes_trigger = shape.l0_stop;
  options.max_bytes_for_level_base = Bytes(shape.l1_mib);
  options.max_bytes_for_level_multiplier = shape.level_multiplier;
  options.target_file_size_base = Bytes(shape.file_mib);
  options.soft_pending_compaction_bytes_limit = Bytes(shape.soft_debt_mib);
  options.hard_pending_compaction_bytes_limit = Bytes(shape.hard_debt_mib);
  options.level_compaction_dynamic_level_bytes = false;  // the tree that was measured, whatever RocksDB's version
  options.max_background_jobs = 2;
  if (shape.universal) options.compaction_style = rocksdb::kCompactionStyleUniversal;
  if (shape.blob_files) {
    options.enable_blob_files = true;
    options.enable_blob_garbage_collection = true;
  }
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(Bytes(shape.cache_mib));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

Descriptors FamiliesOf(const StormShape& shape, const rocksdb::ColumnFamilyOptions& options) {
  if (shape.relay) return RelayFamilies(shape);
  Descriptors families{{rocksdb::kDefaultColumnFamilyName, options}};
  while (families.size() < shape.families.size())
    families.emplace_back("family" + std::to_string(families.size()), options);
  return families;
}

Result<StormDatabase> OpenAt(const fs::path& path, const rocksdb::DBOptions& options, const Descriptors& families) {
  OpenedRocksDb db{};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status status = rocksdb::DB::Open(options, path.string(), families, &handles, &db);
  if (!status.ok()) return FromRocksDb("open " + path.string(), status);
  StormDatabase opened{.db = OwnerOf(&db), .families = {}};
  for (rocksdb::ColumnFamilyHandle* handle : handles) opened.families.emplace_back(handle);
  return opened;
}

}  // namespace

Status MakeTemplate(const StormShape& shape, const fs::path& path) {
  rocksdb::Options options = EngineOptions(shape);
  options.create_if_missing = options.create_missing_column_families = true;
  options.error_if_exists = true;
  const Result<StormDatabase> opened = OpenAt(path, options, FamiliesOf(shape, options));
  if (!opened.ok()) return opened.status();
  const auto& [db, families] = opened.value();
  StormShape whole = shape;
  whole.delete_share = 0;
  const std::unique_ptr<StormContent> content = MakeContent(whole, 0);
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < shape.preloaded_values; ++i) {
    rocksdb::WriteBatch batch;
    content->AddBulk(opened.value(), random, &batch);
    const rocksdb::Status put = db->Write({}, &batch);
    if (!put.ok()) return FromRocksDb("preload", put);
  }
  for (const auto& family : families) {
    if (Status s = FromRocksDb("flush", db->Flush({}, family.get())); !s.ok()) return s;
    const rocksdb::Status compacted = db->CompactRange({}, family.get(), nullptr, nullptr);
    if (!compacted.ok()) return FromRocksDb("compact", compacted);
  }
  return {};
}

StormEngine::Options StormEngine::DefaultOptions(const StormShape& shape) {
  Options options;
  options.disk.reset(
      rocksdb::NewGenericRateLimiter(static_cast<int64_t>(Bytes(shape.disk_mib_per_second)), kRefillMicroseconds));
  options.rocksdb = EngineOptions(shape);
  options.rocksdb.rate_limiter = options.disk;
  return options;
}

Result<std::unique_ptr<StormEngine>> StormEngine::Open(const StormShape& shape, Options options,
                                                       const fs::path& template_path, const fs::path& parent) {
  auto directory = TemporaryDirectory::Make(parent, "weir-storm");
  if (!directory.ok()) return directory.status();
  std::unique_ptr<StormEngine> engine(new StormEngine(shape));
  engine->directory_ = std::move(directory).value();
  engine->disk_ = options.disk;
  engine->buffers_ = options.rocksdb.write_buffer_manager;
  const fs::path& path = engine->directory_->path();
  if (Status s = CopyDatabase(template_path, path); !s.ok()) return s;

  rocksdb::DBOptions& db_options = options.rocksdb;
  Descriptors families = FamiliesOf(shape, options.rocksdb);
  std::optional<PreparedRocksDb> prepared;
  if (options.move_brakes) {
    Result<PreparedRocksDb> result = PrepareRocksDb(Bytes(shape.memory_target_mib), &db_options, &families);
    if (!result.ok()) return result.status();
    prepared = std::move(result).value();
  }
  Result<StormDatabase> opened = OpenAt(path, db_options, families);
  if (!opened.ok()) return opened.status();
  engine->database_ = std::move(opened).value();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const auto& family : engine->database_.families) handles.push_back(family.get());
  rocksdb::DB* db = engine->database_.db.get();
  engine->monitor_ = prepared ? std::make_unique<RocksDbMonitor>(db, handles, *prepared)
                              : std::make_unique<RocksDbMonitor>(db, handles, Bytes(shape.memory_target_mib));
  return engine;
}

void StormEngine::SetDisk(double share_of_full) {
  disk_->SetBytesPerSecond(
      static_cast<int64_t>(static_cast<double>(Bytes(shape_.disk_mib_per_second)) * share_of_full));
}

uint64_t StormEngine::Property(const std::string& name) const {
  uint64_t value = 0;
  database_.db->GetAggregatedIntProperty(name, &value);
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
  std::unordered_map<std::string, std::string> settling{{"level0_file_num_compaction_trigger", "1"}};
  // Universal compaction leaves one sorted run, for which a trigger of 1 would stay due. Without allowed amplification
  // it merges two runs of any sizes.
  if (shape_.universal) {
    settling = {{"level0_file_num_compaction_trigger", "2"},
                {"compaction_options_universal", "{max_size_amplification_percent=0;}"}};
  }
  for (const auto& family : database_.families) {
    // RocksDB returns TryAgain while writes are stopped; then its flushes have begun anyway.
    const rocksdb::Status flushed = database_.db->Flush(without_waiting, family.get());
    if (!flushed.ok() && !flushed.IsTryAgain()) return FromRocksDb("flush", flushed);
    const rocksdb::Status set = database_.db->SetOptions(family.get(), settling);
    if (!set.ok()) return FromRocksDb("settle", set);
  }
  return {};
}

bool StormEngine::Settled() const {
  return Property(Properties::kNumRunningCompactions) == 0 && Property(Properties::kCompactionPending) == 0 &&
         Property(Properties::kMemTableFlushPending) == 0 && Property(Properties::kNumRunningFlushes) == 0;
}

}  // namespace weir
