// Runs a bulk load beside a client on one RocksDB, alone or with weir. `matrix` has the same program in other
// languages.
//
//   bulk_beside_client DIRECTORY alone|weir SECONDS VALUE_BYTES BATCH_VALUES FAMILIES
//
// Prints the milliseconds of each write of the client, what else was counted, and RocksDB's own counters. Flushes and
// compactions may write 12 MiB/s, as on a slow disk, and the load brings more.
#include <rocksdb/rate_limiter.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "monitors/rocksdb_version.h"
#include "throttle/rocksdb/throttled_db.h"

namespace weir {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;

constexpr size_t kMiB = 1 << 20;
constexpr uint64_t kMemoryTarget = 1400 * kMiB;
constexpr size_t kKeyBytes = 16;
constexpr size_t kMostClientBytes = 1000;
constexpr std::chrono::milliseconds kClientPeriod{5};
constexpr double kWarmSeconds = 1;  // the client works for so long before the load begins, and this does not count

void Check(const rocksdb::Status& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "bulk_beside_client: %s\n", s.ToString().c_str());
  std::exit(1);
}

rocksdb::Options SlowDisk() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.compression = rocksdb::kNoCompression;
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(12 * kMiB));
  options.write_buffer_size = 4 * kMiB;
  options.max_write_buffer_number = 8;
  options.level0_file_num_compaction_trigger = 4;
  options.level0_slowdown_writes_trigger = 12;
  options.level0_stop_writes_trigger = 20;
  options.max_bytes_for_level_base = 32 * kMiB;
  options.target_file_size_base = 4 * kMiB;
  return options;
}

std::unique_ptr<rocksdb::DB> Open(const std::string& path, bool with_weir, size_t families, Handles* handles) {
  const rocksdb::Options options = SlowDisk();
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors{{rocksdb::kDefaultColumnFamilyName, options}};
  while (descriptors.size() < families)
    descriptors.emplace_back("family" + std::to_string(descriptors.size()), options);
  if (with_weir) {
    std::unique_ptr<ThrottledDb> throttled;
    Check(ThrottledDb::Open(options, path, descriptors, handles, kMemoryTarget, &throttled));
    return throttled;
  }
  OpenedRocksDb opened{};
  Check(rocksdb::DB::Open(options, path, descriptors, handles, &opened));
  return OwnerOf(&opened);
}

// Values that do not compress, and cost nothing to make.
class Noise {
 public:
  explicit Noise(size_t value_bytes) : bytes_(4 * kMiB, '\0'), last_(bytes_.size() - std::max(value_bytes, kKeyBytes)) {
    for (char& byte : bytes_) byte = static_cast<char>(random_());
  }
  rocksdb::Slice Key() { return Next(kKeyBytes); }
  rocksdb::Slice Next(size_t length) { return {bytes_.data() + random_() % last_, length}; }

 private:
  std::mt19937_64 random_{std::random_device()()};
  std::string bytes_;
  size_t last_;
};

// Writes batches until it is stopped. Returns how many bytes of values it wrote.
uint64_t LoadInBulk(const std::stop_token& stop, rocksdb::DB& db, const Handles& handles, size_t value_bytes,
                    size_t values) {
  const BulkThread bulk;
  Noise noise(value_bytes);
  uint64_t written = 0;
  for (size_t value = 0; !stop.stop_requested();) {
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < values; ++i, ++value)
      Check(batch.Put(handles[value % handles.size()], noise.Key(), noise.Next(value_bytes)));
    const rocksdb::Status s = db.Write({}, &batch);
    if (s.IsBusy()) continue;
    Check(s);
    written += values * value_bytes;
  }
  return written;
}

struct Served {
  std::vector<double> waits_ms;
  int refused = 0;
};

// Writes and reads two hundred values a second. A wait counts from when its write was due.
Served ServeClient(rocksdb::DB& db, size_t value_bytes, double seconds) {
  Noise noise(value_bytes);
  Served served;
  std::string got;
  const auto begin = SteadyClock::now();
  const auto end = begin + std::chrono::duration<double>(seconds);
  for (auto due = begin; std::max(due, SteadyClock::now()) < end; due += kClientPeriod) {
    std::this_thread::sleep_until(due);
    const rocksdb::Slice key = noise.Key();
    const rocksdb::Status s = db.Put({}, key, noise.Next(value_bytes));
    served.waits_ms.push_back(std::chrono::duration<double, std::milli>(SteadyClock::now() - due).count());
    if (s.IsBusy()) {
      ++served.refused;
      continue;
    }
    Check(s);
    Check(db.Get({}, key, &got));
  }
  return served;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  using namespace weir;
  const Arguments arguments(argc, argv,
                            "bulk_beside_client DIRECTORY alone|weir SECONDS VALUE_BYTES BATCH_VALUES FAMILIES", 6);
  const double seconds = arguments.Number(2, 1);
  const size_t value_bytes = arguments.Count(3, kMostClientBytes);
  const size_t batch_values = arguments.Count(4, 16);

  Handles handles;
  const auto db = Open(arguments.Text(0, "bulk_beside_client.db"), arguments.Text(1, "alone") == "weir",
                       arguments.Count(5, 1), &handles);
  const size_t client_bytes = std::min(value_bytes, kMostClientBytes);
  ServeClient(*db, client_bytes, kWarmSeconds);
  uint64_t bulk_bytes = 0;
  const auto begin = SteadyClock::now();
  std::jthread load(
      [&](const std::stop_token& stop) { bulk_bytes = LoadInBulk(stop, *db, handles, value_bytes, batch_values); });
  const Served served = ServeClient(*db, client_bytes, seconds);
  load.request_stop();
  load.join();
  const std::chrono::duration<double> elapsed = SteadyClock::now() - begin;

  std::printf("waits_ms");
  for (const double ms : served.waits_ms) std::printf(" %.3f", ms);
  std::printf("\nrefused %d\nbulk_bytes %llu\nseconds %.3f\n", served.refused,
              static_cast<unsigned long long>(bulk_bytes), elapsed.count());
  std::string counters;
  if (!db->GetProperty("rocksdb.dbstats", &counters)) Check(rocksdb::Status::NotSupported("rocksdb.dbstats"));
  std::fputs(counters.c_str(), stdout);
  for (rocksdb::ColumnFamilyHandle* handle : handles) Check(db->DestroyColumnFamilyHandle(handle));
  return 0;
}
