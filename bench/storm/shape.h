// StormShape: the settings of the engine in the storm experiment, and the data that it stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir {

// The defaults are the shape "recipe": a RocksDB that two cores can overload, because its background I/O is limited to
// 32 MiB/s. (The real disk is so fast that two cores could not overload it.)
struct StormShape {
  std::string name = "recipe";
  std::string meaning = "the storm's own: a small tree on a disk of 32 MiB/s";
  double scale = 1;  // factor by which Scaled has multiplied the sizes and rates below

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;  // size of preloaded values and of the values of bulk work
  size_t interactive_value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int bulk_batch = 16;              // number of values in a batch
  double delete_share = 0;          // share of deletions in the bulk writers' changes
  std::vector<double> families{1};  // the share of all writes that each column family gets
  bool compress = false;            // true: ZSTD, with values that it compresses to half their size

  double disk_mib_per_second = 32;  // rate limit of flushes and compactions together
  double write_buffer_mib = 4;
  int write_buffers = 4;
  int l0_trigger = 4, l0_slowdown = 12, l0_stop = 20;
  double l1_mib = 32;
  double level_multiplier = 10;
  double file_mib = 4;
  double soft_debt_mib = 512, hard_debt_mib = 2048;
  double cache_mib = 32;
  double memory_target_mib = 256;
  bool blob_files = false;  // true: values are in blob files
  bool universal = false;   // true: universal compaction
  bool relay = false;       // true: a relay's layout, options and events replace the keys, families and sizes above
};

// Returns all shapes, the recipe first.
const std::vector<StormShape>& StormShapes();
// Returns the shape with this name; null if there is none.
const StormShape* FindStormShape(const std::string& name);

// Returns the shape of a larger engine with a faster disk and more data, all by the factor `by`.
StormShape Scaled(StormShape shape, double by);

inline uint64_t Bytes(double mib) { return static_cast<uint64_t>(mib * (1 << 20)); }

}  // namespace weir
