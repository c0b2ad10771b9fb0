// Measures the CPU time of a throttle's own threads, and of the whole program: while bulk writers wait at a limit of
// 10 MB/s, while four of them overload a RocksDB, and while a RocksDB of 1, 24 and 200 column families has nothing to
// do. At the limit of 10 MB/s the writers ask, wait and write nothing, so the program's CPU time is that of the
// throttle and of the threads that wait.
//
//   control_threads [seconds of each = 5 [directory of the database]]
#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_cpu.h"
#include "bench/measure/started_threads.h"
#include "bench/measure/temporary_directory.h"
#include "monitors/rocksdb_version.h"
#include "throttle/rocksdb/rocksdb_throttle.h"

namespace weir {
namespace {

constexpr double kBytesPerSecond = 10e6;
constexpr double kSetpoint = 0.70;  // the default of bulk work
constexpr uint64_t kMemoryTarget = uint64_t{16} << 30;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "control_threads: %s\n", what.c_str());
  std::exit(1);
}

// The level of the engine is always at the setpoint, so the limit is the drain.
class SteadyProbe final : public LoadProbe {
  Status Probe(TimePoint, LoadSample* sample) override {
    sample->Add({.name = "steady",
                 .level = kSetpoint,
                 .bytes_per_level = 64 << 20,
                 .dead_time = std::chrono::seconds(1),
                 .drain_bytes_per_second = kBytesPerSecond});
    sample->write_burst_bytes = 1 << 20;
    return {};
  }
};

struct CpuUse {
  double threads_ms = 0;  // CPU time of the throttle's threads in each second
  double program_ms = 0;  // CPU time of the whole program
};

CpuUse Measure(const StartedThreads& threads, double seconds) {
  const double threads_before = threads.CpuSeconds();
  const Duration program_before = OwnProcessorTime();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(FromSeconds(seconds));
  const double took = ToSeconds(std::chrono::steady_clock::now() - begin);
  return {1e3 * (threads.CpuSeconds() - threads_before) / took,
          1e3 * ToSeconds(OwnProcessorTime() - program_before) / took};
}

// Measures while `writers` threads do `write` again and again, each with its own party. Prints a row of the table.
template <typename Write>
void MeasureWriters(const char* what, AdaptiveLimiter& limiter, const StartedThreads& threads, int writers,
                    uint64_t batch_bytes, double seconds, const Write& write) {
  std::atomic<bool> ends{false};
  std::vector<std::thread> running;
  for (int i = 0; i < writers; ++i) {
    running.emplace_back([&, i] {
      const Party party{static_cast<uint64_t>(i), WorkClass::kBulk};
      while (!ends && limiter.Admit(Operation::kWrite, {batch_bytes}, party).Wait() == Admission::State::kAdmitted)
        write(i);
    });
  }
  std::this_thread::sleep_for(FromSeconds(seconds / 5));  // the gate is open at first
  const auto admitted = [&limiter] { return limiter.Stats(Operation::kWrite).admitted[WorkClass::kBulk]; };
  const Flow before = admitted();
  const CpuUse use = Measure(threads, seconds);
  const Flow after = admitted();
  ends = true;
  limiter.Stop();
  for (std::thread& thread : running) thread.join();
  std::printf("| %s, %d writers, batches of %d KiB | %.1f MB/s, %.0f turns/s | %.1f | %.1f |\n", what, writers,
              static_cast<int>(batch_bytes >> 10), 1e-6 * static_cast<double>(after.bytes - before.bytes) / seconds,
              static_cast<double>(after.operations - before.operations) / seconds, use.threads_ms, use.program_ms);
}

void MeasureLimited(int writers, uint64_t batch_bytes, double seconds) {
  LoadMonitor monitor(std::make_unique<SteadyProbe>());
  AdaptiveLimiter limiter(monitor);
  const StartedThreads threads([&] {
    monitor.Start();
    limiter.Start();
  });
  MeasureWriters("10 MB/s", limiter, threads, writers, batch_bytes, seconds, [](int) {});
}

void MeasureOverload(uint64_t batch_bytes, double seconds, const std::filesystem::path& path) {
  constexpr int kWriters = 4;
  constexpr size_t kValueBytes = 1000;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 4 << 20;
  options.max_bytes_for_level_base = 32 << 20;
  options.rate_limiter.reset(rocksdb::NewGenericRateLimiter(48 << 20));
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(kMemoryTarget, &options);
  if (!prepared.ok()) Fail(prepared.status().message());
  OpenedRocksDb opened{};
  if (const auto s = rocksdb::DB::Open(options, path.string(), &opened); !s.ok()) Fail(s.ToString());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  std::unique_ptr<RocksDbThrottle> throttle;
  const StartedThreads threads([&] {
    auto attached = RocksDbThrottle::Attach(db.get(), prepared.value());
    if (!attached.ok()) Fail(attached.status().message());
    throttle = std::move(attached).value();
  });
  std::array<std::minstd_rand, kWriters> random;
  for (int i = 0; i < kWriters; ++i) random[static_cast<size_t>(i)].seed(static_cast<unsigned>(i + 1));
  MeasureWriters("RocksDB", throttle->limiter(), threads, kWriters, batch_bytes, seconds, [&](int writer) {
    rocksdb::WriteBatch batch;
    while (batch.GetDataSize() + kValueBytes < batch_bytes)
      batch.Put(std::to_string(random[static_cast<size_t>(writer)]()), std::string(kValueBytes, 'v'));
    if (!db->Write({}, &batch).ok()) Fail("a write failed");
  });
}

void MeasureIdle(size_t families, double seconds, const std::filesystem::path& path) {
  rocksdb::Options options;
  options.create_if_missing = options.create_missing_column_families = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors{{rocksdb::kDefaultColumnFamilyName, options}};
  while (descriptors.size() < families)
    descriptors.emplace_back("family" + std::to_string(descriptors.size()), options);
  OpenedRocksDb opened{};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  if (const auto s = rocksdb::DB::Open(options, path.string(), descriptors, &handles, &opened); !s.ok())
    Fail(s.ToString());
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  const std::string value(1000, 'v');
  for (auto* handle : handles) {
    for (int i = 0; i < 8; ++i)
      if (!db->Put({}, handle, std::to_string(i), value).ok()) Fail("a put failed");
    if (!db->Flush({}, handle).ok()) Fail("a flush failed");
  }
  std::unique_ptr<RocksDbThrottle> throttle;
  const StartedThreads threads([&] {
    auto attached = RocksDbThrottle::Attach(db.get(), kMemoryTarget, {.handles = handles});
    if (!attached.ok()) Fail(attached.status().message());
    throttle = std::move(attached).value();
  });
  std::this_thread::sleep_for(FromSeconds(seconds / 5));
  const CpuUse use = Measure(threads, seconds);
  std::printf("| %zu families, nothing to do | | %.2f | %.2f |\n", families, use.threads_ms, use.program_ms);
  throttle.reset();
  for (auto* handle : handles) (void)db->DestroyColumnFamilyHandle(handle);
}

void Main(double seconds, const std::filesystem::path& directory) {
  std::printf("CPU time in ms a second (10 are 1 %% of a core)\n\n");
  std::printf("| | admitted | threads of the throttle | whole program |\n|---|---|---|---|\n");
  for (const uint64_t batch_bytes : {4 << 10, 16 << 10, 64 << 10})
    for (const int writers : {4, 64}) MeasureLimited(writers, batch_bytes, seconds);
  for (const uint64_t batch_bytes : {4 << 10, 16 << 10, 64 << 10})
    MeasureOverload(batch_bytes, 2 * seconds, directory / ("overload" + std::to_string(batch_bytes)));
  for (const size_t families : {1, 24, 200}) MeasureIdle(families, seconds, directory / std::to_string(families));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv, "control_threads [seconds of each = 5 [directory of the database]]", 2);
  const double seconds = arguments.Number(0, 5);
  const auto directory = weir::TemporaryDirectory::Make(arguments.Text(1, "."));
  if (!directory.ok()) weir::Fail(directory.status().message());
  weir::Main(seconds, directory.value()->path());
}
