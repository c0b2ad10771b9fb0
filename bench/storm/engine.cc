#include "bench/storm/engine.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/secondary_cache.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/storm/relay_events.h"
#include "bench/storm/slow_file_system.h"
#include "monitors/rocksdb_version.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Properties = rocksdb::DB::Properties;

constexpr int64_t kRefillMicroseconds = 10'000;

Status FromRocksDb(const std::string& doing, const rocksdb::Status& status) {
  return status.ok() ? Status() : Status::Error(doing + ": " + status.ToString());
}

// Copies the files into an Env that keeps its files elsewhere. There, LOCK may not be a file.
Status CopyDatabaseInto(rocksdb::Env* env, const fs::path& from, const fs::path& to) {
  rocksdb::Status status = env->CreateDirIfMissing(to.string());
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    if (entry.path().filename() == "LOCK") continue;
    std::string content;
    if (status.ok()) status = rocksdb::ReadFileToString(rocksdb::Env::Default(), entry.path().string(), &content);
    if (status.ok()) status = rocksdb::WriteStringToFile(env, content, (to / entry.path().filename()).string());
  }
  return FromRocksDb("copy " + from.string(), status);
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

// For what only a mistake in a shape can make fail.
void Require(const rocksdb::Status& status) {
  if (!status.ok()) throw std::logic_error("the options of a shape: " + status.ToString());
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
  rocksdb::LRUCacheOptions cache;
  cache.capacity = Bytes(shape.cache_mib);
  if (shape.read_caches_mib > 0) {
    const std::string bytes = std::to_string(Bytes(shape.read_caches_mib));
    Require(rocksdb::SecondaryCache::CreateFromString({}, "compressed_secondary_cache://capacity=" + bytes,
                                                      &cache.secondary_cache));
    options.row_cache = rocksdb::NewLRUCache(Bytes(shape.read_caches_mib));
  }
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::Options all;
  Require(rocksdb::GetOptionsFromString({}, options, shape.options, &all));
  return all;
}

using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

Descriptors FamiliesOf(const StormShape& shape, const rocksdb::ColumnFamilyOptions& options) {
  if (shape.relay) return RelayFamilies(shape);
  Descriptors families{{rocksdb::kDefaultColumnFamilyName, options}};
  while (families.size() < shape.families.size())
    families.emplace_back("family" + std::to_string(families.size()), options);
  for (size_t i = families.size() - static_cast<size_t>(shape.fifo_families); i < families.size(); ++i)
    families[i].options.compaction_style = rocksdb::kCompactionStyleFIFO;
  return families;
}

using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

rocksdb::Status OpenAs(StormShape::Writes writes, const std::string& path, const rocksdb::DBOptions& options,
                       const Descriptors& families, Handles* handles, StormDatabase* opened) {
  if (writes == StormShape::Writes::kOptimistic) {
    rocksdb::OptimisticTransactionDB* db = nullptr;
    rocksdb::Status status = rocksdb::OptimisticTransactionDB::Open(options, path, families, handles, &db);
    opened->db.reset(db);
    opened->begin_transaction = [db](const rocksdb::WriteOptions& o) { return db->BeginTransaction(o); };
    return status;
  }
  if (writes == StormShape::Writes::kPessimistic) {
    rocksdb::TransactionDB* db = nullptr;
    rocksdb::Status status = rocksdb::TransactionDB::Open(options, {}, path, families, handles, &db);
    opened->db.reset(db);
    rocksdb::TransactionOptions ends_deadlocks;
    ends_deadlocks.deadlock_detect = true;
    opened->begin_transaction = [db, ends_deadlocks](const rocksdb::WriteOptions& o) {
      return db->BeginTransaction(o, ends_deadlocks);
    };
    return status;
  }
  OpenedRocksDb db{};
  rocksdb::Status status = rocksdb::DB::Open(options, path, families, handles, &db);
  opened->db = OwnerOf(&db);
  return status;
}

Result<StormDatabase> OpenAt(const fs::path& path, const rocksdb::DBOptions& options, const Descriptors& families,
                             StormShape::Writes writes) {
  StormDatabase opened;
  Handles handles;
  const rocksdb::Status status = OpenAs(writes, path.string(), options, families, &handles, &opened);
  if (!status.ok()) return FromRocksDb("open " + path.string(), status);
  for (rocksdb::ColumnFamilyHandle* handle : handles) opened.families.emplace_back(handle);
  return opened;
}

// Collects what a batch puts, sorted by key.
class SortedPuts final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    puts[key.ToString()] = value.ToString();
    return {};
  }

  std::map<std::string, std::string> puts;
};

}  // namespace

Status MakeTemplate(const StormShape& shape, const fs::path& path) {
  rocksdb::Options options = EngineOptions(shape);
  options.create_if_missing = options.create_missing_column_families = true;
  options.error_if_exists = true;
  const Result<StormDatabase> opened = OpenAt(path, options, FamiliesOf(shape, options), StormShape::Writes::kBatches);
  if (!opened.ok()) return opened.status();
  const auto& db = opened.value().db;
  StormShape whole = shape;
  whole.delete_share = whole.range_delete_share = 0;
  whole.skew = 1;
  const std::unique_ptr<StormContent> content = MakeContent(whole, 0);
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < shape.preloaded_values; ++i) {
    rocksdb::WriteBatch batch;
    content->AddBulk(opened.value(), random, &batch);
    const rocksdb::Status put = db->Write({}, &batch);
    if (!put.ok()) return FromRocksDb("preload", put);
  }
  for (const auto& family : opened.value().families) {
    if (Status s = FromRocksDb("flush", db->Flush({}, family.get())); !s.ok()) return s;
    const rocksdb::Status compacted = db->CompactRange({}, family.get(), nullptr, nullptr);
    if (!compacted.ok()) return FromRocksDb("compact", compacted);
  }
  return {};
}

StormEngine::Options StormEngine::DefaultOptions(const StormShape& shape) {
  Options options;
  options.rocksdb = EngineOptions(shape);
  if (shape.disk_mib_per_second > 0) {
    options.disk.reset(
        rocksdb::NewGenericRateLimiter(static_cast<int64_t>(Bytes(shape.disk_mib_per_second)), kRefillMicroseconds));
  }
  if (shape.in_memory) options.env.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  if (shape.hidden_disk) {
    options.env = SlowEnv(options.disk);
  } else {
    options.rocksdb.rate_limiter = options.disk;
  }
  if (options.env) options.rocksdb.env = options.env.get();
  if (shape.shared_buffers_mib > 0) {
    options.rocksdb.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
        Bytes(shape.shared_buffers_mib), nullptr, shape.shared_buffers_stall);
  }
  return options;
}

Result<std::unique_ptr<StormEngine>> StormEngine::Open(const StormShape& shape, Options options,
                                                       const fs::path& template_path, const fs::path& parent) {
  auto directory = TemporaryDirectory::Make(parent, "weir-storm");
  if (!directory.ok()) return directory.status();
  std::unique_ptr<StormEngine> engine(new StormEngine(shape));
  engine->directory_ = std::move(directory).value();
  engine->env_ = options.env;
  engine->disk_ = options.disk;
  engine->buffers_ = options.rocksdb.write_buffer_manager;
  const fs::path& path = engine->directory_->path();
  Status copied =
      shape.in_memory ? CopyDatabaseInto(options.env.get(), template_path, path) : CopyDatabase(template_path, path);
  if (!copied.ok()) return copied;

  rocksdb::DBOptions& db_options = options.rocksdb;
  Descriptors families = FamiliesOf(shape, options.rocksdb);
  std::optional<PreparedRocksDb> prepared;
  if (options.move_brakes) {
    Result<PreparedRocksDb> result = PrepareRocksDb(Bytes(shape.memory_target_mib), &db_options, &families);
    if (!result.ok()) return result.status();
    prepared = std::move(result).value();
  }
  Result<StormDatabase> opened = OpenAt(path, db_options, families, shape.writes);
  if (!opened.ok()) return opened.status();
  engine->database_ = std::move(opened).value();
  Handles handles;
  for (const auto& family : engine->database_.families) handles.push_back(family.get());
  rocksdb::DB* db = engine->database_.db.get();
  engine->ingested_ = db->GetOptions();
  engine->monitor_ = prepared ? std::make_unique<RocksDbMonitor>(db, handles, *prepared)
                              : std::make_unique<RocksDbMonitor>(db, handles, Bytes(shape.memory_target_mib));
  return engine;
}

rocksdb::Status StormEngine::Write(rocksdb::WriteOptions options, WorkClass work, rocksdb::WriteBatch& batch) {
  options.disableWAL = !shape_.wal;
  if (shape_.writes == StormShape::Writes::kIngested && work == WorkClass::kBulk) return Ingest(batch);
  if (!database_.begin_transaction) return db().Write(options, &batch);
  for (;;) {
    const std::unique_ptr<rocksdb::Transaction> transaction(database_.begin_transaction(options));
    rocksdb::Status status = transaction->RebuildFromWriteBatch(&batch);
    if (status.ok()) status = transaction->Commit();
    if (!status.IsBusy() && !status.IsTryAgain() && !status.IsTimedOut()) return status;
  }
}

rocksdb::Status StormEngine::Ingest(rocksdb::WriteBatch& batch) {
  SortedPuts sorted;
  rocksdb::Status status = batch.Iterate(&sorted);
  const std::string file = (directory_->path() / ("ingested" + std::to_string(files_ingested_++))).string();
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), ingested_);
  if (status.ok()) status = writer.Open(file);
  for (const auto& [key, value] : sorted.puts)
    if (status.ok()) status = writer.Put(key, value);
  if (status.ok()) status = writer.Finish();
  rocksdb::IngestExternalFileOptions moved;
  moved.move_files = true;
  return status.ok() ? db().IngestExternalFile({file}, moved) : status;
}

void StormEngine::SetDisk(double share_of_full) {
  if (!disk_) return;
  disk_->SetBytesPerSecond(
      static_cast<int64_t>(static_cast<double>(Bytes(shape_.disk_mib_per_second)) * share_of_full));
}

void StormEngine::CompactAll() {
  rocksdb::CompactRangeOptions alone;
  alone.exclusive_manual_compaction = true;
  for (const auto& family : database_.families)
    (void)database_.db->CompactRange(alone, family.get(), nullptr, nullptr);  // not ok if it is cancelled
}

void StormEngine::CancelCompaction() { database_.db->DisableManualCompaction(); }

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
  std::unordered_map<std::string, std::string> settling{
      {"level0_file_num_compaction_trigger", "1"}, {"ttl", "0"}, {"periodic_compaction_seconds", "0"}};
  // Universal compaction leaves one sorted run, for which a trigger of 1 would stay due. Without allowed amplification
  // it merges two runs of any sizes.
  if (shape_.universal) {
    settling["level0_file_num_compaction_trigger"] = "2";
    settling["compaction_options_universal"] = "{max_size_amplification_percent=0;}";
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
