// What the engine under the storm is like, and what it stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// As given it is the recipe: a RocksDB that two cores can overload, because its background I/O is limited (the disk is
// far faster than the cores).
struct StormShape {
  std::string name = "recipe";
  std::string meaning = "the storm's own: a small tree on a disk of 32 MiB/s";
  double scale = 1;  // that all below but counts of files, a value and a batch were multiplied by

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;  // of what is preloaded and of bulk work
  size_t interactive_value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int bulk_batch = 16;              // values
  double delete_share = 0;          // of the bulk writers' changes
  std::vector<double> families{1};  // how much of all that is written each column family gets
  bool compress = false;            // with ZSTD, values that it makes half as long

  double disk_mib_per_second = 32;  // for flushes and compactions
  double write_buffer_mib = 4;
  int write_buffers = 4;
  int l0_trigger = 4, l0_slowdown = 12, l0_stop = 20;
  double l1_mib = 32;
  double level_multiplier = 10;
  double file_mib = 4;
  double soft_debt_mib = 512, hard_debt_mib = 2048;
  double cache_mib = 32;
  double memory_target_mib = 256;
  bool blob_files = false;  // values in files of their own
  bool universal = false;   // compaction
  bool relay = false;       // its own layout, options and events, instead of the keys, families and sizes above
};

// The recipe first.
const std::vector<StormShape>& StormShapes();
// Null: there is none of that name.
const StormShape* FindStormShape(const std::string& name);

// A larger engine with a faster disk, which more is stored in.
StormShape Scaled(StormShape shape, double by);

inline uint64_t Bytes(double mib) { return static_cast<uint64_t>(mib * (1 << 20)); }

}  // namespace weir
