#include "monitors/rocksdb_options.h"

#include <algorithm>

#include "monitors/rocksdb_listener.h"
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

bool LacksCache(const ColumnFamilyOptions& options) {
  const BlockBasedTableOptions* table = BlockBased(options);
  if (table == nullptr || table->no_block_cache) return false;
  return table->block_cache == nullptr || table->block_cache->GetCapacity() == DefaultCacheBytes();
}

// Returns the first cache that the program set.
std::shared_ptr<rocksdb::Cache> CacheOf(const std::vector<ColumnFamilyOptions*>& families) {
  for (const ColumnFamilyOptions* options : families) {
    const BlockBasedTableOptions* table = BlockBased(*options);
    if (table != nullptr && !table->no_block_cache && !LacksCache(*options)) return table->block_cache;
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
// weir merges no flushes.
LsmGeometry FamilyGeometry(const rocksdb::DBOptions& db, const ColumnFamilyOptions& options, EngineBrakes brakes) {
  LsmGeometry given = GeometryOf(options);
  if (brakes == EngineBrakes::kAsSet) return given;
  if (!db.atomic_flush) return PreparedGeometry(given);
  given.brakes_moved = true;
  return given;
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
    needs.most_write_buffer_bytes += geometry.write_buffer_bytes * static_cast<uint64_t>(geometry.max_write_buffers);
    wants_cache = wants_cache || LacksCache(*options);
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

Result<PreparedRocksDb> Prepare(uint64_t target_bytes, rocksdb::DBOptions* db,
                                const std::vector<ColumnFamilyOptions*>& families, EngineBrakes brakes) {
  for (const auto& listener : db->listeners) {
    if (dynamic_cast<RocksDbListener*>(listener.get()) == nullptr) continue;
    return Status::Error("these options were prepared before: prepare a fresh copy, or the brakes would move twice");
  }
  const MemoryNeeds needs = NeedsOf(*db, families, brakes);
  const Result<MemoryBudget> budget = PlanMemory(target_bytes, needs);
  if (!budget.ok()) return budget.status();

  PreparedRocksDb prepared;
  prepared.target_bytes = target_bytes;
  prepared.budget = budget.value();
  prepared.block_cache = CacheOf(families);
  if (!prepared.block_cache && budget.value().block_cache_bytes > 0) {
    prepared.block_cache = rocksdb::NewLRUCache(budget.value().block_cache_bytes);
  }
  for (ColumnFamilyOptions* options : families)
    if (LacksCache(*options)) UseCache(prepared.block_cache, options);
  if (!needs.write_buffer_bytes) {
    db->write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
        prepared.budget.write_buffer_bytes, prepared.budget.charged_to_cache ? prepared.block_cache : nullptr);
  }
  prepared.write_buffer_manager = db->write_buffer_manager;
  prepared.listener =
      std::make_shared<RocksDbListener>(brakes == EngineBrakes::kMoved ? RocksDbListener::kCompactionNice : 0);
  db->listeners.push_back(prepared.listener);
  return prepared;
}

// Sets the options of an engine of this geometry.
void Apply(const LsmGeometry& geometry, ColumnFamilyOptions* o) {
  const LsmBrakes brakes = BrakesOf(geometry);
  o->min_write_buffer_number_to_merge = geometry.buffers_per_flush;
  o->max_write_buffer_number = brakes.max_write_buffers;
  // Zero and negative limits mean no limit.
  if (o->level0_slowdown_writes_trigger >= 0) o->level0_slowdown_writes_trigger = brakes.l0_slowdown;
  o->level0_stop_writes_trigger = brakes.l0_stop;
  if (o->soft_pending_compaction_bytes_limit > 0) o->soft_pending_compaction_bytes_limit = brakes.soft_pending_bytes;
  if (o->hard_pending_compaction_bytes_limit > 0) o->hard_pending_compaction_bytes_limit = brakes.hard_pending_bytes;
}

LsmGeometry PrepareFamily(const rocksdb::DBOptions& db, ColumnFamilyOptions* options, EngineBrakes brakes) {
  const LsmGeometry geometry = FamilyGeometry(db, *options, brakes);
  if (brakes == EngineBrakes::kMoved) Apply(geometry, options);
  return geometry;
}

}  // namespace

Status CheckCompaction(const ColumnFamilyOptions& options, const std::string& family) {
  if (options.compaction_style == rocksdb::kCompactionStyleLevel ||
      options.compaction_style == rocksdb::kCompactionStyleUniversal) {
    return {};
  }
  return Status::Error("column family " + family +
                       " uses neither level nor universal compaction, and how near FIFO and no compaction are to their "
                       "brakes is not known: set compaction_style to kCompactionStyleLevel, or do without weir");
}

Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::Options* options, EngineBrakes brakes) {
  if (Status good = CheckCompaction(*options, rocksdb::kDefaultColumnFamilyName); !good.ok()) return good;
  Result<PreparedRocksDb> prepared = Prepare(target_bytes, options, {options}, brakes);
  if (!prepared.ok()) return prepared;
  prepared.value().geometry.emplace(rocksdb::kDefaultColumnFamilyName, PrepareFamily(*options, options, brakes));
  return prepared;
}

Result<PreparedRocksDb> PrepareRocksDb(uint64_t target_bytes, rocksdb::DBOptions* db_options,
                                       std::vector<rocksdb::ColumnFamilyDescriptor>* column_families,
                                       EngineBrakes brakes) {
  std::vector<ColumnFamilyOptions*> families;
  for (rocksdb::ColumnFamilyDescriptor& family : *column_families) {
    if (Status good = CheckCompaction(family.options, family.name); !good.ok()) return good;
    families.push_back(&family.options);
  }
  Result<PreparedRocksDb> prepared = Prepare(target_bytes, db_options, families, brakes);
  if (!prepared.ok()) return prepared;
  for (rocksdb::ColumnFamilyDescriptor& family : *column_families)
    prepared.value().geometry.emplace(family.name, PrepareFamily(*db_options, &family.options, brakes));
  return prepared;
}

// The corrections are RocksDB's own (SanitizeOptions in column_family.cc).
LsmGeometry GeometryOf(const ColumnFamilyOptions& o) {
  LsmGeometry g;
  g.write_buffer_bytes = std::max<uint64_t>(o.write_buffer_size, 64 << 10);
  g.max_write_buffers = std::max(o.max_write_buffer_number, 2);
  g.buffers_per_flush = std::clamp(o.min_write_buffer_number_to_merge, 1, g.max_write_buffers - 1);
  g.l0_trigger = std::max(o.level0_file_num_compaction_trigger, 1);
  // A negative slowdown trigger means no slowdown; then the first brake is the stop.
  const int first_brake =
      o.level0_slowdown_writes_trigger < 0 ? o.level0_stop_writes_trigger : o.level0_slowdown_writes_trigger;
  g.l0_slowdown = std::max(first_brake, g.l0_trigger + 1);
  g.l0_stop = std::max(o.level0_stop_writes_trigger, g.l0_slowdown);
  g.counts_runs = o.compaction_style == rocksdb::kCompactionStyleUniversal;
  g.l1_bytes = g.counts_runs ? 0 : o.max_bytes_for_level_base;
  g.soft_pending_bytes = o.soft_pending_compaction_bytes_limit > 0 ? o.soft_pending_compaction_bytes_limit
                                                                   : o.hard_pending_compaction_bytes_limit;
  g.hard_pending_bytes = o.hard_pending_compaction_bytes_limit;
  g.compaction_brakes = !o.disable_auto_compactions;
  return g;
}

}  // namespace weir
