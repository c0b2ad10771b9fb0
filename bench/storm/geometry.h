// The engine under the storm: a RocksDB that two cores can overload, because its background I/O is limited (the disk is
// far faster than the cores).
//
// At scale 1: values of 1,000 bytes over 2 million keys, no compression, 4 buffers of 4 MiB, L0 triggers 4/12/20, L1 of
// 32 MiB, files of 4 MiB, soft limit of debt 512 MiB, hard 2 GiB, two background jobs, 32 MiB/s for flushes and
// compactions in portions of 10 ms, 32 MiB of block cache, 100 MB preloaded.
#pragma once

#include <rocksdb/options.h>

#include <cstdint>
#include <memory>

namespace weir {

struct StormGeometry {
  double scale = 1;  // of every size and of the disk

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int64_t disk_bytes_per_second = 32 << 20;
  uint64_t memory_target_bytes = 256 << 20;
};

StormGeometry ScaledStorm(double scale);

rocksdb::Options EngineOptions(const StormGeometry& geometry, std::shared_ptr<rocksdb::RateLimiter> disk);

}  // namespace weir
