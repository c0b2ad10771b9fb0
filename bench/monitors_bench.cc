// Measures the cost of sensing: a latency record on the path of every operation, a sample ten times a second.
#include <benchmark/benchmark.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/latency_window.h"
#include "monitors/memory_probe.h"
#include "monitors/rocksdb_monitor.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

LatencyWindow shared_window;

void LatencyRecord(benchmark::State& state) {
  for (auto _ : state) shared_window.Record(Duration(state.thread_index() + 1));
}
BENCHMARK(LatencyRecord)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void LatencyMean(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(shared_window.Mean());
}
BENCHMARK(LatencyMean);

void LatencySummary(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(shared_window.Summary());
}
BENCHMARK(LatencySummary);

void MemoryUse(benchmark::State& state) {
  MemoryProbe probe;
  for (auto _ : state) benchmark::DoNotOptimize(probe.ReadUse().ok());
}
BENCHMARK(MemoryUse);

void MemoryRoom(benchmark::State& state) {
  const MemoryProbe probe;
  for (auto _ : state) benchmark::DoNotOptimize(probe.ReadRoom().ok());
}
BENCHMARK(MemoryRoom);

// A small database, idle or written to by one thread at about 10 MB/s.
class LoadedEngine {
 public:
  explicit LoadedEngine(bool loaded) {
    std::string name = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
    path_ = mkdtemp(name.data());
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 4 << 20;
    options.max_write_buffer_number = 4;
    options.max_bytes_for_level_base = 32 << 20;
    options.target_file_size_base = 4 << 20;
    prepared_ = PrepareRocksDb(uint64_t{256} << 20, &options).value();
    OpenedRocksDb opened{};
    if (!rocksdb::DB::Open(options, path_, &opened).ok()) std::abort();
    db_ = OwnerOf(&opened);
    Write(64 << 20, false);
    if (loaded) writer_ = std::thread([this] { Write(UINT64_MAX, true); });
  }
  ~LoadedEngine() {
    stop_ = true;
    if (writer_.joinable()) writer_.join();
    db_.reset();
    std::filesystem::remove_all(path_);
  }
  rocksdb::DB* db() { return db_.get(); }
  const PreparedRocksDb& prepared() const { return prepared_; }

 private:
  void Write(uint64_t bytes, bool paced) {
    std::string value(1000, 'x');
    for (uint64_t written = 0; written < bytes && !stop_; written += value.size()) {
      for (size_t i = 0; i < value.size(); i += 2) value[i] = static_cast<char>(random_());
      (void)db_->Put({}, std::to_string(random_() % 100'000), value);
      if (paced && written % 100'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  std::string path_;
  PreparedRocksDb prepared_;
  std::unique_ptr<rocksdb::DB> db_;
  std::mt19937_64 random_{7};
  std::atomic<bool> stop_{false};
  std::thread writer_;
};

// Arguments: loaded, and the step of the monitor's clock between samples. 1 ms: the cheap sample; 1100 ms: each reads
// the counters; 100 ms: one in ten does, as in a program.
void RocksDbSample(benchmark::State& state) {
  LoadedEngine engine(state.range(0) != 0);
  ManualClock clock(TimePoint{} + std::chrono::seconds(1000));
  RocksDbMonitor monitor(engine.db(), {}, engine.prepared(), {}, clock);
  for (auto _ : state) {
    clock.Advance(std::chrono::milliseconds(state.range(1)));
    if (!monitor.SampleOnce().ok()) state.SkipWithError("sample failed");
  }
}
BENCHMARK(RocksDbSample)
    ->ArgNames({"loaded", "step_ms"})
    ->ArgsProduct({{0, 1}, {1, 100, 1100}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
}  // namespace weir
