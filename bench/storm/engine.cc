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

namespace weir {
namespace {

namespace fs = std::filesystem;
using Properties = rocksdb::DB::Properties;

constexpr int64_t kRefillMicroseconds = 10'000;
constexpr size_t kKeyBytes = 16;

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

}  // namespace

std::string StormKey(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kKeyBytes - std::min(kKeyBytes, digits.size()), '0') + digits;
}

StormValues::StormValues(const StormShape& shape) {
  constexpr size_t kDifferent = 256 << 10;  // more than a block of a table, in which repetitions would compress
  std::mt19937_64 random(1);
  bytes_.resize(kDifferent + std::max(shape.value_bytes, shape.interactive_value_bytes));
  const unsigned mask = shape.compress ? 0xf : 0xff;
  for (char& c : bytes_) c = static_cast<char>(random() & mask);
}

rocksdb::Slice StormValues::Next(std::mt19937_64& random, size_t bytes) const {
  return {bytes_.data() + random() % (bytes_.size() - bytes), bytes};
}

namespace {

rocksdb::Options EngineOptions(const StormShape& shape) {
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

// The families of a shape, closed before their database.
struct OpenDatabase {
  std::unique_ptr<rocksdb::DB> db;
  StormEngine::Families families;
};

using Descriptors = std::vector<rocksdb::ColumnFamilyDescriptor>;

Descriptors FamiliesOf(const StormShape& shape, const rocksdb::ColumnFamilyOptions& options) {
  Descriptors families{{rocksdb::kDefaultColumnFamilyName, options}};
  while (families.size() < shape.families.size())
    families.emplace_back("family" + std::to_string(families.size()), options);
  return families;
}

Result<OpenDatabase> OpenAt(const fs::path& path, const rocksdb::DBOptions& options, const Descriptors& families) {
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status status = rocksdb::DB::Open(options, path.string(), families, &handles, &db);
  if (!status.ok()) return FromRocksDb("open " + path.string(), status);
  OpenDatabase opened{.db = std::unique_ptr<rocksdb::DB>(db)};
  for (rocksdb::ColumnFamilyHandle* handle : handles) opened.families.emplace_back(handle);
  return opened;
}

std::string RandomKey(const StormShape& shape, std::mt19937_64& random) { return StormKey(random() % shape.keys); }

size_t RandomFamily(const StormShape& shape, std::mt19937_64& random) {
  double left = std::uniform_real_distribution<>()(random);
  size_t family = 0;
  while (family + 1 < shape.families.size() && (left -= shape.families[family]) >= 0) ++family;
  return family;
}

}  // namespace

Status MakeTemplate(const StormShape& shape, const fs::path& path) {
  rocksdb::Options options = EngineOptions(shape);
  options.create_if_missing = options.create_missing_column_families = true;
  options.error_if_exists = true;
  const Result<OpenDatabase> opened = OpenAt(path, options, FamiliesOf(shape, options));
  if (!opened.ok()) return opened.status();
  const auto& [db, families] = opened.value();
  const StormValues values(shape);
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < shape.preloaded_values; ++i) {
    rocksdb::ColumnFamilyHandle* family = families[RandomFamily(shape, random)].get();
    const rocksdb::Status put = db->Put({}, family, RandomKey(shape, random), values.Next(random, shape.value_bytes));
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
  Result<OpenDatabase> opened = OpenAt(path, db_options, families);
  if (!opened.ok()) return opened.status();
  engine->db_ = std::move(opened.value().db);
  engine->families_ = std::move(opened.value().families);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const auto& family : engine->families_) handles.push_back(family.get());
  rocksdb::DB* db = engine->db_.get();
  engine->monitor_ = prepared ? std::make_unique<RocksDbMonitor>(db, handles, *prepared)
                              : std::make_unique<RocksDbMonitor>(db, handles, Bytes(shape.memory_target_mib));
  return engine;
}

void StormEngine::AddPut(std::mt19937_64& random, size_t value_bytes, rocksdb::WriteBatch* batch) const {
  batch->Put(families_[RandomFamily(shape_, random)].get(), RandomKey(shape_, random),
             values_.Next(random, value_bytes));
}

void StormEngine::AddInteractivePut(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
  AddPut(random, shape_.interactive_value_bytes, batch);
}

void StormEngine::AddBulkChange(std::mt19937_64& random, rocksdb::WriteBatch* batch) const {
  if (std::bernoulli_distribution(shape_.delete_share)(random)) {
    batch->Delete(families_[RandomFamily(shape_, random)].get(), RandomKey(shape_, random));
  } else {
    AddPut(random, shape_.value_bytes, batch);
  }
}

rocksdb::Status StormEngine::Get(std::mt19937_64& random) const {
  std::string value;
  const rocksdb::Status status =
      db_->Get({}, families_[RandomFamily(shape_, random)].get(), RandomKey(shape_, random), &value);
  return status.IsNotFound() ? rocksdb::Status() : status;
}

rocksdb::Status StormEngine::Scan(std::mt19937_64& random, int values) const {
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}, families_[RandomFamily(shape_, random)].get()));
  size_t bytes = 0;
  for (it->Seek(RandomKey(shape_, random)); it->Valid() && values > 0; it->Next(), --values)
    bytes += it->value().size();
  return it->status();
}

void StormEngine::SetDisk(double share_of_full) {
  disk_->SetBytesPerSecond(
      static_cast<int64_t>(static_cast<double>(Bytes(shape_.disk_mib_per_second)) * share_of_full));
}

uint64_t StormEngine::Property(const std::string& name) const {
  uint64_t value = 0;
  db_->GetAggregatedIntProperty(name, &value);
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
  for (const auto& family : families_) {
    // While writes are stopped it has enough to flush, and says so.
    const rocksdb::Status flushed = db_->Flush(without_waiting, family.get());
    if (!flushed.ok() && !flushed.IsTryAgain()) return FromRocksDb("flush", flushed);
    const rocksdb::Status set = db_->SetOptions(family.get(), settling);
    if (!set.ok()) return FromRocksDb("settle", set);
  }
  return {};
}

bool StormEngine::Settled() const {
  return Property(Properties::kNumRunningCompactions) == 0 && Property(Properties::kCompactionPending) == 0 &&
         Property(Properties::kMemTableFlushPending) == 0 && Property(Properties::kNumRunningFlushes) == 0;
}

}  // namespace weir
