// LsmOptions: the options of one column family of RocksDB that decide when it brakes, as plain numbers, so that they
// can come from an object of RocksDB (rocksdb_options.h) or from its texts (rocksdb_text/options_text.h).
#pragma once

#include <cstdint>

#include "monitors/lsm_geometry.h"

namespace weir {

enum class CompactionStyle : uint8_t { kLevel, kUniversal, kFifo, kNone };

// The names and defaults are RocksDB's.
struct LsmOptions {
  uint64_t write_buffer_size = 64 << 20;
  int max_write_buffer_number = 2;
  int min_write_buffer_number_to_merge = 1;
  int level0_file_num_compaction_trigger = 4;
  int level0_slowdown_writes_trigger = 20;
  int level0_stop_writes_trigger = 36;
  uint64_t soft_pending_compaction_bytes_limit = 64ull << 30;
  uint64_t hard_pending_compaction_bytes_limit = 256ull << 30;
  CompactionStyle compaction_style = CompactionStyle::kLevel;
  uint64_t max_bytes_for_level_base = 256ull << 20;
  bool level_compaction_dynamic_level_bytes = false;
  bool disable_auto_compactions = false;

  bool operator==(const LsmOptions&) const = default;
};

// Returns the geometry of a family that was opened with these options. Corrects them as RocksDB does.
LsmGeometry GeometryAsSet(const LsmOptions& options);

}  // namespace weir
