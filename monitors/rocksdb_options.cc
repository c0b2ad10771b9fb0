#include "monitors/rocksdb_options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "monitors/buffer_fit.h"
#include "monitors/lsm_options.h"
#include "monitors/rocksdb_buffers.h"
#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_mark.h"
#include "monitors/rocksdb_unmarked.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/table.h"

namespace weir {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyOptions;

// Returns null for table formats that are not block based.
BlockBasedTableOptions* BlockBased(const ColumnFamilyOptions& options) {
  return options.table_factory ? options.table_factory->GetOptions<BlockBasedTableOptions>() : nullptr;
}

// Returns the size of the cache that RocksDB makes for a table if the program set none: 8 MiB until 8.1, then 32.
size_t DefaultCacheBytes() {
  static const size_t bytes = [] {
    const ColumnFamilyOptions fresh;
    const BlockBasedTableOptions* table = BlockBased(fresh);
    return table == nullptr || table->block_cache == nullptr ? 0 : table->block_cache->GetCapacity();
  }();
  return bytes;
}

// Returns the first cache that the program set.
std::shared_ptr<rocksdb::Cache> CacheOf(const std::vector<ColumnFamilyOptions*>& families) {
  for (const ColumnFamilyOptions* options : families) {
    const BlockBasedTableOptions* table = BlockBased(*options);
    if (table != nullptr && !table->no_block_cache && !HasDefaultCache(*options)) return table->block_cache;
  }
  return nullptr;
}

// A factory keeps the cache that it was made with, so the table gets a new factory.
void UseCache(const std::shared_ptr<rocksdb::Cache>& cache, ColumnFamilyOptions* options) {
  BlockBasedTableOptions table = *BlockBased(*options);
  table.block_cache = cache;
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

// Returns the geometry that a column family is opened with. With atomic_flush RocksDB flushes all families at once, so
// no flushes are merged.
LsmGeometry FamilyGeometry(const rocksdb::DBOptions& db, const ColumnFamilyOptions& options, EngineBrakes brakes,
                           int most_per_flush = std::numeric_limits<int>::max()) {
  LsmGeometry given = GeometryOf(options);
  if (brakes == EngineBrakes::kAsSet) return given;
  if (!db.atomic_flush) return PreparedGeometry(given, most_per_flush);
  given.buffers_per_flush = 1;
  given.brakes_moved = true;
  return given;
}

// Returns the bytes of flushed memtables that RocksDB keeps in memory so that transactions can find conflicts.
uint64_t HistoryBytes(const ColumnFamilyOptions& options, const LsmGeometry& geometry) {
  const uint64_t all = geometry.write_buffer_bytes * static_cast<uint64_t>(BrakesOf(geometry).max_write_buffers);
  const int64_t bytes = options.max_write_buffer_size_to_maintain;
  if (bytes != 0) return bytes < 0 ? all : static_cast<uint64_t>(bytes);
  const int buffers = BuffersToMaintain(options);
  return buffers < 0 ? all : geometry.write_buffer_bytes * static_cast<uint64_t>(buffers);
}

// Returns how the memtables fit into the program's WriteBufferManager, if it stops all writers when it is full. Returns
// an error if it may then stand for ever (buffer_fit.h).
Result<BufferFit> FitManager(const rocksdb::DBOptions& db, const std::vector<ColumnFamilyOptions*>& families,
                             EngineBrakes brakes) {
  if (!StopsWriters(db.write_buffer_manager.get())) return BufferFit();
  std::vector<FamilyBuffers> buffers;
  for (const ColumnFamilyOptions* options : families) {
    const LsmGeometry geometry = FamilyGeometry(db, *options, brakes);
    buffers.push_back({.buffer_bytes = geometry.write_buffer_bytes,
                       .given_per_flush = GeometryOf(*options).buffers_per_flush,
                       .wanted_per_flush = geometry.buffers_per_flush,
                       .history_bytes = HistoryBytes(*options, geometry)});
  }
  return FitBuffers(db.write_buffer_manager->buffer_size(), buffers);
}

MemoryNeeds NeedsOf(const rocksdb::DBOptions& db, const std::vector<ColumnFamilyOptions*>& families,
                    EngineBrakes brakes) {
  MemoryNeeds needs;
  bool wants_cache = false;
  uint64_t largest = 0;
  for (const ColumnFamilyOptions* options : families) {
    const LsmGeometry geometry = FamilyGeometry(db, *options, brakes);
    const auto flushed_together = static_cast<uint64_t>(geometry.buffers_per_flush);
    largest = std::max(largest, flushed_together * geometry.write_buffer_bytes);
    needs.most_write_buffer_bytes +=
        geometry.write_buffer_bytes * static_cast<uint64_t>(geometry.brakes.max_write_buffers);
    wants_cache = wants_cache || HasDefaultCache(*options);
  }
  // The largest column family needs room for bytes that are being written and bytes that are being flushed.
  needs.least_write_buffer_bytes = 2 * largest;
  const auto cache = CacheOf(families);
  if (cache) needs.block_cache_bytes = cache->GetCapacity();
  needs.charged_to_cache = cache || wants_cache;
  if (!cache && !wants_cache) needs.block_cache_bytes = 0;
  if (db.write_buffer_manager && db.write_buffer_manager->enabled()) {
    needs.write_buffer_bytes = db.write_buffer_manager->buffer_size();
    needs.charged_to_cache = db.write_buffer_manager->cost_to_cache();
  } else if (db.db_write_buffer_size > 0) {
    needs.write_buffer_bytes = db.db_write_buffer_size;
    needs.charged_to_cache = false;
  }
  return needs;
}

// Returns the geometry of a prepared engine whose brakes were given back while it is open.
LsmGeometry Resting(LsmGeometry prepared) {
  prepared.brakes_moved = false;
  return prepared;
}

// Sets the options of an engine of this geometry. The values are such that RocksDB takes them as they are.
void Apply(const LsmGeometry& geometry, ColumnFamilyOptions* o) {
  const LsmBrakes brakes = BrakesOf(geometry);
  o->min_write_buffer_number_to_merge = geometry.buffers_per_flush;
  o->max_write_buffer_number = brakes.max_write_buffers;
  o->level0_slowdown_writes_trigger = brakes.l0_slowdown;
  o->level0_stop_writes_trigger = brakes.l0_stop;
  o->soft_pending_compaction_bytes_limit = brakes.soft_pending_bytes;
  o->hard_pending_compaction_bytes_limit = brakes.hard_pending_bytes;
}

// Makes the memtables take their memory in blocks of `block_bytes` bytes, if RocksDB's own blocks are larger: an eighth
// of a write buffer, at most 1 MiB, in steps of 4 KiB. RocksDB stores this size with the options, so options that have
// it count as if the program had not set it.
void UseSmallBlocks(uint64_t block_bytes, ColumnFamilyOptions* o) {
  constexpr uint64_t kStep = 4 << 10;
  const uint64_t own_block = (std::min<uint64_t>(1 << 20, o->write_buffer_size / 8) + kStep - 1) / kStep * kStep;
  const bool is_own = o->arena_block_size == 0 || o->arena_block_size == own_block;
  if (is_own && block_bytes > 0 && block_bytes < own_block) o->arena_block_size = block_bytes;
}

// The options of a database and of its column families, to be changed together.
struct AllOptions {
  rocksdb::DBOptions db;
  std::vector<ColumnFamilyOptions> families;
};

// Takes the changes of an earlier call back.
void Unprepare(AllOptions* options) {
  for (ColumnFamilyOptions& family : options->families)
    if (!TakeBack(&family)) TakeBackUnmarked(&family);
  auto& listeners = options->db.listeners;
  for (auto listener = listeners.begin(); listener != listeners.end();) {
    const auto ours = std::dynamic_pointer_cast<RocksDbListener>(*listener);
    if (!ours) {
      ++listener;
      continue;
    }
    const RocksDbListener::Made& made = ours->made();
    if (options->db.write_buffer_manager == made.write_buffer_manager) options->db.write_buffer_manager = nullptr;
    for (ColumnFamilyOptions& family : options->families) {
      const BlockBasedTableOptions* table = BlockBased(family);
      if (made.block_cache && table != nullptr && table->block_cache == made.block_cache) UseCache(nullptr, &family);
    }
    listener = listeners.erase(listener);
  }
}

Result<int> NiceOf(const RocksDbPreparation& preparation) {
  const int usual = preparation.brakes == EngineBrakes::kMoved ? RocksDbListener::kCompactionNice : 0;
  const int nice = preparation.compaction_nice.value_or(usual);
  if (nice >= 0 && nice <= 19) return nice;
  return Status::Error("compaction_nice is " + std::to_string(nice) +
                       ", not within 0..19: with 0, compactions keep their priority");
}

std::vector<ColumnFamilyOptions*> PointersTo(std::vector<ColumnFamilyOptions>& families) {
  std::vector<ColumnFamilyOptions*> pointers;
  for (ColumnFamilyOptions& family : families) pointers.push_back(&family);
  return pointers;
}

Result<PreparedRocksDb> Prepare(uint64_t target_bytes, const std::vector<std::string>& names, AllOptions* options,
                                const RocksDbPreparation& preparation) {
  for (size_t i = 0; i < names.size(); ++i)
    if (Status good = CheckCompaction(options->families[i], names[i]); !good.ok()) return good;
  const Result<int> nice = NiceOf(preparation);
  if (!nice.ok()) return nice.status();
  Unprepare(options);
  const std::vector<ColumnFamilyOptions*> families = PointersTo(options->families);
  const Result<BufferFit> fit = FitManager(options->db, families, preparation.brakes);
  if (!fit.ok()) return fit.status();
  const MemoryNeeds needs = NeedsOf(options->db, families, preparation.brakes);
  const Result<MemoryBudget> budget = PlanMemory(target_bytes, needs);
  if (!budget.ok()) {
    const std::string& setting = preparation.target_setting;
    return Status::Error((setting.empty() ? "" : setting + " does not fit: ") + budget.status().message());
  }

  PreparedRocksDb prepared;
  prepared.target_bytes = target_bytes;
  prepared.budget = budget.value();
  RocksDbListener::Made made;
  prepared.block_cache = CacheOf(families);
  if (!prepared.block_cache && prepared.budget.block_cache_bytes > 0)
    prepared.block_cache = made.block_cache = rocksdb::NewLRUCache(prepared.budget.block_cache_bytes);
  for (ColumnFamilyOptions* family : families)
    if (HasDefaultCache(*family)) UseCache(prepared.block_cache, family);
  if (!needs.write_buffer_bytes) {
    made.write_buffer_manager = options->db.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
        prepared.budget.write_buffer_bytes, prepared.budget.charged_to_cache ? prepared.block_cache : nullptr);
  }
  prepared.write_buffer_manager = options->db.write_buffer_manager;
  prepared.listener = std::make_shared<RocksDbListener>(nice.value(), std::move(made));
  options->db.listeners.push_back(prepared.listener);
  for (size_t i = 0; i < names.size(); ++i) {
    const LsmGeometry geometry =
        FamilyGeometry(options->db, *families[i], preparation.brakes, fit.value().most_per_flush);
    prepared.geometry.emplace(names[i], geometry);
    if (!geometry.brakes_moved) continue;
    UseSmallBlocks(fit.value().block_bytes, families[i]);
    const ColumnFamilyOptions given = *families[i];
    ColumnFamilyOptions resting = given;
    Apply(Resting(geometry), &resting);
    Apply(geometry, families[i]);
    MarkMoved(given, resting, families[i]);
  }
  return prepared;
}

}  // namespace

Status CheckCompaction(const ColumnFamilyOptions& options, const std::string& family) {
  if (options.compaction_style != rocksdb::kCompactionStyleNone) return {};
  return Status::Error("column family " + family +
                       " has no compaction (kCompactionStyleNone), so how fast files leave L0 is not known: set "
                       "compaction_style to kCompactionStyleLevel, kCompactionStyleUniversal or kCompactionStyleFIFO, "
                       "or leave the family out of PrepareRocksDb and of the handles");
}

bool HasDefaultCache(const ColumnFamilyOptions& options) {
  const BlockBasedTableOptions* table = BlockBased(options);
  if (table == nullptr || table->no_block_cache) return false;
  return table->block_cache == nullptr || table->block_cache->GetCapacity() == DefaultCacheBytes();
}

LsmBrakes BrakesIn(const ColumnFamilyOptions& o) {
  return {.max_write_buffers = o.max_write_buffer_number,
          .l0_slowdown = o.level0_slowdown_writes_trigger,
          .l0_stop = o.level0_stop_writes_trigger,
          .soft_pending_bytes = o.soft_pending_compaction_bytes_limit,
          .hard_pending_bytes = o.hard_pending_compaction_bytes_limit};
}

bool HasBrakesOf(const LsmGeometry& geometry, const ColumnFamilyOptions& o) {
  return o.min_write_buffer_number_to_merge == geometry.buffers_per_flush && BrakesIn(o) == BrakesOf(geometry);
}

Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options,
                                       const RocksDbPreparation& preparation) {
  AllOptions all{*options, {*options}};
  Result<PreparedRocksDb> prepared = Prepare(target_bytes, {rocksdb::kDefaultColumnFamilyName}, &all, preparation);
  if (prepared.ok()) *options = rocksdb::Options(all.db, all.families.front());
  return prepared;
}

Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       const RocksDbPreparation& preparation) {
  AllOptions all{*db_options, {}};
  std::vector<std::string> names;
  for (const rocksdb::ColumnFamilyDescriptor& family : *column_families) {
    all.families.push_back(family.options);
    names.push_back(family.name);
  }
  Result<PreparedRocksDb> prepared = Prepare(target_bytes, names, &all, preparation);
  if (!prepared.ok()) return prepared;
  *db_options = std::move(all.db);
  for (size_t i = 0; i < names.size(); ++i) (*column_families)[i].options = std::move(all.families[i]);
  return prepared;
}

LsmGeometry GeometryAsSet(const ColumnFamilyOptions& o) {
  constexpr auto kStyleOf = [](rocksdb::CompactionStyle style) {
    switch (style) {
      case rocksdb::kCompactionStyleLevel:
        return CompactionStyle::kLevel;
      case rocksdb::kCompactionStyleUniversal:
        return CompactionStyle::kUniversal;
      case rocksdb::kCompactionStyleFIFO:
        return CompactionStyle::kFifo;
      default:
        return CompactionStyle::kNone;
    }
  };
  return GeometryAsSet(LsmOptions{.write_buffer_size = o.write_buffer_size,
                                  .max_write_buffer_number = o.max_write_buffer_number,
                                  .min_write_buffer_number_to_merge = o.min_write_buffer_number_to_merge,
                                  .level0_file_num_compaction_trigger = o.level0_file_num_compaction_trigger,
                                  .level0_slowdown_writes_trigger = o.level0_slowdown_writes_trigger,
                                  .level0_stop_writes_trigger = o.level0_stop_writes_trigger,
                                  .soft_pending_compaction_bytes_limit = o.soft_pending_compaction_bytes_limit,
                                  .hard_pending_compaction_bytes_limit = o.hard_pending_compaction_bytes_limit,
                                  .compaction_style = kStyleOf(o.compaction_style),
                                  .max_bytes_for_level_base = o.max_bytes_for_level_base,
                                  .level_compaction_dynamic_level_bytes = o.level_compaction_dynamic_level_bytes,
                                  .disable_auto_compactions = o.disable_auto_compactions});
}

LsmGeometry GeometryOf(const ColumnFamilyOptions& options) {
  ColumnFamilyOptions given = options;
  if (TakeBack(&given)) {
    LsmGeometry prepared = GeometryAsSet(given);
    prepared.brakes_moved = true;
    prepared.buffers_per_flush = options.min_write_buffer_number_to_merge;
    prepared.brakes.max_write_buffers += options.max_write_buffer_number - BrakesOf(prepared).max_write_buffers;
    if (HasBrakesOf(prepared, options)) return prepared;
  }
  return GeometryAsSet(options);
}

}  // namespace weir
