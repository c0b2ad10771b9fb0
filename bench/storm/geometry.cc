#include "bench/storm/geometry.h"

#include <rocksdb/cache.h>
#include <rocksdb/table.h>

#include <utility>

namespace weir {

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

rocksdb::Options EngineOptions(const StormGeometry& geometry, std::shared_ptr<rocksdb::RateLimiter> disk) {
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

}  // namespace weir
