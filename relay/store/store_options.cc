#include "relay/store/store_options.h"

#include <algorithm>
#include <string>

#include "relay/store/keys.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/table.h"

namespace weir {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyOptions;

// Small buffers keep the memory of inserts in the processor's caches, and the memory of a burst low. The index has
// smaller buffers: in a batch of 256 an event costs 13.9 µs with 4 MiB and 15.5 µs with 8 MiB. L0 and L1 may have some
// twenty buffers, with removed events that take space until a compaction goes deeper, so a buffer has at most a
// thousandth of the disk budget.
uint64_t WriteBufferBytes(const StoreOptions& options) {
  uint64_t bytes = options.memory_target_bytes / 128;
  if (options.max_disk_bytes > 0) bytes = std::min(bytes, options.max_disk_bytes / 1000);
  return std::clamp<uint64_t>(bytes, 1 << 20, 8 << 20);
}

// Filters and indexes of tables are in the block cache, so that the memory target covers them.
BlockBasedTableOptions Table() {
  BlockBasedTableOptions table;
  table.format_version = 5;  // the newest that RocksDB 7.8 reads; the default of later versions is newer
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.metadata_cache_options.top_level_index_pinning = rocksdb::PinningTier::kAll;
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kFlushedAndSimilar;
  return table;
}

// The number of files in level 0 (L0) at which RocksDB compacts it.
constexpr int kUsualTrigger = 4;
// With more files in L0 and a larger L1, RocksDB rewrites less, but a search has to look into more files. So this
// number is for records, which are found by their serial, and for imports. A million events of 0.7 KB: 34,000 a second
// at 47 µs of processor time each with 4 files, 54,000 at 34 µs with 8, 58,000 at 28 µs with 32. But with 32, a relay
// that opens the database after an import has to slow down writes because of the files left in L0; with 8 it need not
// (level 0.6).
constexpr int kDeepTrigger = 8;

// Level compaction. L1 is as large as L0 when L0 is compacted, so that a compaction rewrites no more old data than it
// adds new data.
ColumnFamilyOptions Levels(uint64_t write_buffer_bytes, int trigger) {
  ColumnFamilyOptions family;
  family.write_buffer_size = write_buffer_bytes;
  family.max_write_buffer_number = 2;
  family.level0_file_num_compaction_trigger = trigger;
  family.level0_slowdown_writes_trigger = 3 * trigger;
  family.level0_stop_writes_trigger = 5 * trigger;
  family.max_bytes_for_level_base = static_cast<uint64_t>(trigger) * write_buffer_bytes;
  family.target_file_size_base = 2 * write_buffer_bytes;
  family.target_file_size_multiplier = 2;
  // RocksDB's default since 8.4 sizes levels from the last one up, and then the first one does not match L0.
  family.level_compaction_dynamic_level_bytes = false;
  family.soft_pending_compaction_bytes_limit = 4ull << 30;
  family.hard_pending_compaction_bytes_limit = 16ull << 30;
  return family;
}

// The default family has one key, the format. Its tables, too, must have a form that every version of RocksDB reads.
ColumnFamilyOptions FormatOptions() {
  ColumnFamilyOptions family = Levels(1 << 20, kUsualTrigger);
  family.compression = rocksdb::kNoCompression;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(Table()));
  return family;
}

// Serials only grow, so most of a file overlaps no other file. But one deletion of an old event makes a file overlap
// everything in between, so RocksDB rewrites it on its way down. Therefore the levels above L2, which will be
// rewritten, are compressed quickly, and L2 and deeper levels are compressed well. With 300,000 events by clients, this
// and the deep L0 save 14 % of an event's processor time and cost 6 % more bytes on disk.
ColumnFamilyOptions EventsOptions(uint64_t write_buffer_bytes) {
  ColumnFamilyOptions family = Levels(write_buffer_bytes, kDeepTrigger);
  family.compression_per_level = {rocksdb::kLZ4Compression, rocksdb::kLZ4Compression, rocksdb::kZSTD};
  family.compression_opts.level = 1;
  BlockBasedTableOptions table = Table();
  // A record that is looked up alone costs a block. With 8 KiB the first look-ups after a start take 1.2 to 1.6 times
  // the processor time, and the database has 2 to 5 % fewer bytes.
  table.block_size = 4 << 10;
  table.block_restart_interval = 1;  // records are found by bisection; keys of 8 bytes share no prefix
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

// A file of the index has two fifths of the bytes that its entries had in their buffer. So two buffers become one file,
// which makes L0 about as large as L1; with one, a compaction rewrote 2.5 times what it added, and an event cost 4 %
// more.
//
// A removed entry and the mark of its removal are as large as a live entry, and they stay until a compaction brings the
// mark down to the last level. If the last level is hardly larger than the one above it, they may be half of the index:
// after 2.8 million removals it had 893 MB instead of 437. A disk budget has no room for that, so with one
// the last level always has about nine tenths of the index.
ColumnFamilyOptions IndexOptions(uint64_t write_buffer_bytes, int trigger, bool has_disk_budget) {
  ColumnFamilyOptions family = Levels(write_buffer_bytes, trigger);
  family.min_write_buffer_number_to_merge = 2;
  family.max_write_buffer_number = 4;
  family.level_compaction_dynamic_level_bytes = has_disk_budget;
  family.compression = rocksdb::kLZ4Compression;
  family.prefix_extractor = NewIndexPrefix();
  // Entries are inserted in the order of their keys, so the next one is a few steps from the last one of the same
  // letter.
  family.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
  family.memtable_prefix_bloom_size_ratio = 0.05;
  BlockBasedTableOptions table = Table();
  table.block_size = 4 << 10;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = false;  // when a key is looked up, its prefix is the whole key
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return family;
}

// A search reads the entries of a word, which is the prefix of their keys. The key of the state is shorter, and an
// iterator with prefix_same_as_start that comes to it asks for its prefix.
ColumnFamilyOptions SearchOptions(uint64_t write_buffer_bytes, int trigger, bool has_disk_budget) {
  ColumnFamilyOptions family = IndexOptions(write_buffer_bytes, trigger, has_disk_budget);
  family.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(sizeof(uint64_t)));
  return family;
}

}  // namespace

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options) {
  rocksdb::DBOptions db;
  db.max_background_jobs = 2;
  // One thread writes, so atomic inserts would only cost time.
  db.allow_concurrent_memtable_write = false;
  db.max_open_files = 1000;
  db.max_file_opening_threads = kFileOpeningThreads;
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.max_manifest_file_size = 4 << 20;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.bytes_per_sync = 1 << 20;
  // After a crash, writes are kept in their order up to the first gap. A flush syncs the logs before it, so no family
  // is ever ahead of the logs, and atomic flushes are not needed.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.use_direct_io_for_flush_and_compaction = options.direct_io_for_compaction;
  if (options.settings.io_mb_per_second > 0) {
    const auto bytes_per_second = static_cast<int64_t>(options.settings.io_mb_per_second * 1'000'000);
    db.rate_limiter.reset(rocksdb::NewGenericRateLimiter(bytes_per_second));
  }
  return db;
}

std::vector<ColumnFamilyDescriptor> Families(const StoreOptions& options) {
  const uint64_t buffer = WriteBufferBytes(options);
  const uint64_t index_buffer = options.for_import ? buffer : buffer / 2;
  const int trigger = options.for_import ? kDeepTrigger : kUsualTrigger;
  const bool has_disk_budget = options.max_disk_bytes > 0;
  return {ColumnFamilyDescriptor(rocksdb::kDefaultColumnFamilyName, FormatOptions()),
          ColumnFamilyDescriptor(std::string(kEventsFamily), EventsOptions(buffer)),
          ColumnFamilyDescriptor(std::string(kIndexFamily), IndexOptions(index_buffer, trigger, has_disk_budget)),
          ColumnFamilyDescriptor(std::string(kSearchFamily), SearchOptions(index_buffer, trigger, has_disk_budget))};
}

void Declare(SettingTable& table, StoreSettings& settings) {
  table.Add("DB_SYNC", &settings.sync,
            {{"batch", SyncMode::kBatch}, {"interval", SyncMode::kInterval}, {"off", SyncMode::kOff}},
            "when an event is on disk: batch: before its OK; interval: at most WEIR_DB_SYNC_INTERVAL_MS later; off: "
            "when the operating system writes it");
  table.Add("DB_SYNC_INTERVAL_MS", &settings.sync_interval, {.min = 1, .max = 60000, .unit = "ms"},
            "with WEIR_DB_SYNC=interval: longest time until an acknowledged event is on disk");
  table.Add("DB_IO_MB_PER_S", &settings.io_mb_per_second, {.min = 0, .max = 100000, .unit = "MB/s"},
            "highest rate at which RocksDB's flushes and compactions write, for a disk that other programs need too; "
            "0: no limit");
}

}  // namespace weir
