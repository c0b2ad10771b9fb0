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
  // How a write reaches the database: as a batch, in a transaction, or, for bulk work, as a file that RocksDB ingests.
  enum class Writes { kBatches, kOptimistic, kPessimistic, kIngested };

  std::string name = "recipe";
  std::string meaning = "the storm's own: a small tree on a disk of 32 MiB/s";
  double scale = 1;  // factor by which Scaled has multiplied the sizes and rates below

  uint64_t keys = 2'000'000;
  size_t value_bytes = 1000;  // size of preloaded values and of the values of bulk work
  size_t interactive_value_bytes = 1000;
  uint64_t preloaded_values = 100'000;
  int bulk_batch = 16;              // number of values in a batch
  double delete_share = 0;          // share of deletions in the bulk writers' changes
  double range_delete_share = 0;    // share of deletions of twenty neighbouring keys in the bulk writers' changes
  double skew = 1;                  // a key is the number keys * u^skew, with a random u from 0 to 1
  bool counters = false;            // true: all values are counters of eight bytes, and all writes add to one by Merge
  std::vector<double> families{1};  // the share of all writes that each column family gets
  bool compress = false;            // true: ZSTD, with values that it compresses to half their size

  double disk_mib_per_second = 32;  // rate limit of flushes and compactions together; 0: none
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

  std::string options;       // other options, in the words of rocksdb::GetOptionsFromString
  bool hidden_disk = false;  // true: the file system itself is as slow as the disk, and RocksDB has no RateLimiter
  bool in_memory = false;    // true: all files are in memory, in an Env of RocksDB's that has no use of a RateLimiter
  double shared_buffers_mib = 0;      // limit of a WriteBufferManager for all families; 0: none
  bool shared_buffers_stall = false;  // true: it makes writers wait
  double read_caches_mib = 0;         // size of a row cache, and of a compressed cache behind the block cache; 0: none
  int fifo_families = 0;              // the last families compact by FIFO
  int databases = 1;  // number of databases that share the disk, each with clients and a policy of its own

  Writes writes = Writes::kBatches;
  bool wal = true;
  double read_factor = 1;            // reads, as a multiple of the usual ones
  double offered_mb_per_second = 0;  // rate of the bulk work; 0: as fast as it can

  // While bulk work goes on:
  double later_disk_share = 1;   // share of the disk's rate in the second half
  double bulk_rest_seconds = 0;  // the writers work for so long and rest for so long, in turns; 0: they do not rest
  bool compacts_all = false;     // true: after a fifth of it, an exclusive CompactRange of everything begins
};

// Returns all shapes, the recipe first.
const std::vector<StormShape>& StormShapes();
// Returns the shape with this name; null if there is none.
const StormShape* FindStormShape(const std::string& name);

// Returns the shape of a larger engine with a faster disk and more data, all by the factor `by`.
StormShape Scaled(StormShape shape, double by);

inline uint64_t Bytes(double mib) { return static_cast<uint64_t>(mib * (1 << 20)); }

}  // namespace weir
