// Measures the cost of a throttle that has nothing to do: the same puts and gets on two databases, one of them under
// weir, in slices of a twentieth of a second that take turns.
//
//   control_cost [seconds of each = 10 [directory of the databases]]
#include <rocksdb/db.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_cpu.h"
#include "bench/measure/temporary_directory.h"
#include "monitors/rocksdb_version.h"
#include "throttle/rocksdb/rocksdb_throttle.h"

namespace weir {
namespace {

constexpr Duration kSlice = std::chrono::milliseconds(50);
constexpr uint64_t kKeys = 100'000;
constexpr uint64_t kMemoryTarget = uint64_t{16} << 30;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "control_cost: %s\n", what.c_str());
  std::exit(1);
}

std::string Key(uint64_t number) {
  std::string key = std::to_string(number * 0x9e3779b97f4a7c15u % kKeys);
  return std::string(16 - key.size(), '0') + key;
}

struct Database {
  std::unique_ptr<rocksdb::DB> db;
  std::unique_ptr<RocksDbThrottle> throttle;  // null: RocksDB alone

  void Put(const std::string& key, const std::string& value) const {
    Admission admission;
    if (throttle != nullptr) admission = throttle->Admit(Operation::kWrite, {key.size() + value.size()});
    admission.Wait();
    if (!admission.admitted() || !db->Put({}, key, value).ok()) Fail("a put failed");
  }
  void Get(const std::string& key, std::string* value) const {
    Admission admission;
    if (throttle != nullptr) admission = throttle->Admit(Operation::kRead, {});
    admission.Wait();
    if (!admission.admitted() || !db->Get({}, key, value).ok()) Fail("a get failed");
  }
};

// Opens both databases alike, so only control differs. No memtable may be flushed during the measurement, because a
// flush would count for the database whose slice it falls into.
Database Open(const std::filesystem::path& path, bool under_weir) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = size_t{2} << 30;
  Database database;
  const Result<PreparedRocksDb> prepared = PrepareRocksDb(kMemoryTarget, &options);
  if (!prepared.ok()) Fail(prepared.status().message());
  OpenedRocksDb opened{};
  if (const rocksdb::Status s = rocksdb::DB::Open(options, path.string(), &opened); !s.ok()) Fail(s.ToString());
  database.db = OwnerOf(&opened);
  rocksdb::DB* const db = database.db.get();
  const std::string value(100, 'v');
  for (uint64_t i = 0; i < kKeys; ++i) database.Put(Key(i), value);
  if (!db->Flush({}).ok()) Fail("a flush failed");
  if (under_weir) {
    auto attached = RocksDbThrottle::Attach(db, prepared.value());
    if (!attached.ok()) Fail(attached.status().message());
    database.throttle = std::move(attached).value();
  }
  return database;
}

using Operate = std::function<void(const Database&, uint64_t number)>;

// Returns the nanoseconds of one operation of one thread.
double RunSlice(const Database& database, const Operate& operate, int threads, uint64_t* number) {
  std::atomic<uint64_t> operations{0};
  std::vector<std::thread> running;
  const auto begin = std::chrono::steady_clock::now();
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, next = *number + static_cast<uint64_t>(t) * 7919]() mutable {
      uint64_t done = 0;
      while (std::chrono::steady_clock::now() - begin < kSlice)
        for (int i = 0; i < 64; ++i, ++done) operate(database, next++);
      operations += done;
    });
  }
  for (std::thread& thread : running) thread.join();
  const Duration took = std::chrono::steady_clock::now() - begin;
  *number += operations;
  return ToSeconds(took) * 1e9 * threads / static_cast<double>(operations);
}

double Percentile(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all[static_cast<size_t>(share * static_cast<double>(all.size() - 1))];
}

void Compare(const char* name, const Operate& operate, int threads, double seconds, const Database& alone,
             const Database& weir) {
  const auto rounds = static_cast<int>(std::max(1.0, seconds / ToSeconds(kSlice)));
  std::vector<double> without;
  std::vector<double> differences;
  uint64_t number = 0;
  for (int i = 0; i < rounds; ++i) {
    // Each round begins with the other database, so that a machine that gets slower favours neither.
    double ns[2];
    uint64_t of_both = number;
    for (const int which : {i % 2, 1 - i % 2}) {
      of_both = number;
      ns[which] = RunSlice(which == 1 ? weir : alone, operate, threads, &of_both);
    }
    number = of_both;
    without.push_back(ns[0]);
    differences.push_back(ns[1] - ns[0]);
  }
  const double base = Percentile(without, 0.5);
  const double cost = Percentile(differences, 0.5);
  std::printf("| %s, %d thread%s | %.0f ns | %+.0f ns (%+.0f to %+.0f) | %+.1f %% |\n", name, threads,
              threads == 1 ? "" : "s", base, cost, Percentile(differences, 0.25), Percentile(differences, 0.75),
              100 * cost / base);
}

void Main(double seconds, const std::filesystem::path& directory) {
  const Database alone = Open(directory / "alone", false);
  const Database weir = Open(directory / "weir", true);
  const std::string value(100, 'w');
  std::printf("| | RocksDB alone | under weir, median (quartiles) | |\n|---|---|---|---|\n");
  for (const int threads : {1, 2}) {
    Compare(
        "put of 100 B", [&](const Database& d, uint64_t n) { d.Put(Key(n), value); }, threads, seconds, alone, weir);
    Compare(
        "get of 100 B",
        [](const Database& d, uint64_t n) {
          thread_local std::string got;
          d.Get(Key(n), &got);
        },
        threads, seconds, alone, weir);
  }
  for (const Database* database : {&alone, &weir}) {
    std::string files;
    if (!database->db->GetProperty(rocksdb::DB::Properties::kNumFilesAtLevelPrefix + "0", &files) || files != "1")
      Fail("a memtable was flushed meanwhile: measure for a shorter time");
  }
  const Duration before = OwnProcessorTime();
  std::this_thread::sleep_for(FromSeconds(seconds));
  std::printf("\nwith nothing to do: %.2f %% of a core\n", 100 * ToSeconds(OwnProcessorTime() - before) / seconds);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv, "control_cost [seconds of each = 10 [directory of the databases]]", 2);
  const double seconds = arguments.Number(0, 10);
  const auto directory = weir::TemporaryDirectory::Make(arguments.Text(1, "."));
  if (!directory.ok()) weir::Fail(directory.status().message());
  weir::Main(std::max(0.05, seconds), directory.value()->path());
}
