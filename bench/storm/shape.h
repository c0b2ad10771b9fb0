// The shape of the engine under the storm, and of the data that it stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// The defaults are the recipe: a RocksDB that two cores can overload, because its background I/O is limited (the disk
// is far faster than the cores).
struct StormShape {
  std::string name = "recipe";
  std::string meaning = "the storm's own: a small tree on a disk of 32 MiB/s";
  double scale = 1;  // factor that all below, except counts of files, a value and a batch, were multiplied by

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;  // size of preloaded values and of bulk work's
  size_t interactive_value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int bulk_batch = 16;              // values
  double delete_share = 0;          // share of deletions in the bulk writers' changes
  std::vector<double> families{1};  // the share of all writes that each column family gets
  bool compress = false;            // with ZSTD, and values that it makes half as long

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

// Returns all shapes, the recipe first.
const std::vector<StormShape>& StormShapes();
// Returns null if there is none of that name.
const StormShape* FindStormShape(const std::string& name);

// Returns a larger engine with a faster disk and more data.
StormShape Scaled(StormShape shape, double by);

inline uint64_t Bytes(double mib) { return static_cast<uint64_t>(mib * (1 << 20)); }

}  // namespace weir
