#include "bench/storm/shape.h"

#include <type_traits>

namespace weir {

const std::vector<StormShape>& StormShapes() {
  // Two cores write less with these shapes, and fill only a smaller disk.
  constexpr double kDisk = 24;
  static const std::vector<StormShape> kShapes = {
      {},
      {.name = "defaults",
       .meaning = "RocksDB's default sizes and limits, on a disk of 64 MiB/s",
       .preloaded_values = 400'000,
       .disk_mib_per_second = 64,
       .write_buffer_mib = 64,
       .write_buffers = 2,
       .l0_slowdown = 20,
       .l0_stop = 36,
       .l1_mib = 256,
       .file_mib = 64,
       .soft_debt_mib = 64 << 10,
       .hard_debt_mib = 256 << 10,
       .memory_target_mib = 1024},
      {.name = "blobs",
       .meaning = "values of 8 KiB, in blob files",
       .keys = 250'000,
       .value_bytes = 8 << 10,
       .preloaded_values = 12'500,
       .disk_mib_per_second = kDisk,
       .blob_files = true},
      {.name = "families",
       .meaning = "four column families, three quarters to one",
       .families = {0.75, 0.25 / 3, 0.25 / 3, 0.25 / 3},
       .disk_mib_per_second = kDisk},
      {.name = "deletes",
       .meaning = "half of the bulk writers' changes delete",
       .delete_share = 0.5,
       .disk_mib_per_second = kDisk},
      {.name = "small",
       .meaning = "values of 64 bytes",
       .keys = 20'000'000,
       .value_bytes = 64,
       .interactive_value_bytes = 64,
       .preloaded_values = 1'200'000,
       .bulk_batch = 200,
       .disk_mib_per_second = kDisk},
      {.name = "large",
       .meaning = "values of 64 KiB",
       .keys = 30'000,
       .value_bytes = 64 << 10,
       .preloaded_values = 1'600,
       .disk_mib_per_second = kDisk},
      {.name = "zstd",
       .meaning = "values that ZSTD halves, on a fast disk: the processor is the bound",
       .compress = true,
       .disk_mib_per_second = 1024},
      {.name = "deep",
       .meaning = "a narrow tree of many levels: 8 MiB in L1, four times as much in the next",
       .preloaded_values = 500'000,
       .disk_mib_per_second = kDisk,
       .l1_mib = 8,
       .level_multiplier = 4},
      {.name = "universal", .meaning = "universal compaction", .disk_mib_per_second = kDisk, .universal = true},
      {.name = "slow", .meaning = "a disk of 6 MiB/s", .disk_mib_per_second = 6},
      {.name = "relay",
       .meaning = "the relay's own database: events, and the entries of their index",
       .value_bytes = 1100,
       .preloaded_values = 200'000,
       .disk_mib_per_second = 12,
       .cache_mib = 128,
       .memory_target_mib = 512,
       .relay = true},
  };
  return kShapes;
}

const StormShape* FindStormShape(const std::string& name) {
  for (const StormShape& shape : StormShapes())
    if (shape.name == name) return &shape;
  return nullptr;
}

StormShape Scaled(StormShape shape, double by) {
  const auto scale = [by](auto* x) {
    *x = static_cast<std::remove_reference_t<decltype(*x)>>(static_cast<double>(*x) * by);
  };
  scale(&shape.scale);
  scale(&shape.keys);
  scale(&shape.preloaded_values);
  for (double* mib : {&shape.disk_mib_per_second, &shape.write_buffer_mib, &shape.l1_mib, &shape.file_mib,
                      &shape.soft_debt_mib, &shape.hard_debt_mib, &shape.cache_mib, &shape.memory_target_mib})
    scale(mib);
  return shape;
}

}  // namespace weir
