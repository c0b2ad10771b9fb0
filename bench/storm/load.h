// StormLoad: the load of a run. Small interactive writes and reads start at random times (Poisson), whether or not
// earlier ones are done. Meanwhile bulk writers write as fast as the policy and the engine let them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/storm/policy.h"
#include "bench/storm/scenario.h"

namespace weir {

struct LoadOptions {
  double writes_per_second = 200;
  double reads_per_second = 500;
  // The numbers of threads for interactive operations. They should be large enough for all operations that wait at
  // once, such as the 200 writes of a stall of a second. In a longer stall writes also wait for a free thread; their
  // latency includes this wait.
  int writing_clients = 256;
  int reading_clients = 64;
  int sleepers = 16;        // threads that only sleep, until as many random times as there are writes
  double scan_share = 0.1;  // share of scans in the reads; the others read one value
  int scan_values = 20;

  std::vector<int> writers_of_party{1, 1, 1, 1};
  int scanners = 0;
  int long_scan_values = 2000;
};

// The lowest Party::id of the bulk writers' parties.
inline constexpr uint64_t kFirstParty = 100;

// The figures of a phase. Latency counts from the intended start of an operation to its end, so a stall counts for all
// operations that were to start during it. An interactive operation belongs to the phase of its intended start, bulk
// work to the phase in which it ends.
struct FeltFigures {
  LatencyHistogram writes;
  LatencyHistogram reads;
  LatencyHistogram scans;
  LatencyHistogram lateness;  // how late threads wake up that only sleep: the machine's share of the latencies
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> bulk_refused{0};
  std::atomic<int64_t> longest_gap_ns{0};  // between the ends of two interactive writes
  std::atomic<uint64_t> bulk_bytes{0};
  std::atomic<uint64_t> long_scans{0};
  std::vector<std::atomic<uint64_t>> party_bytes;
};

// PoissonSchedule: the random times at which the operations of many clients start.
class PoissonSchedule {
 public:
  PoissonSchedule(double per_second, uint64_t seed) : random_(seed), gap_s_(per_second) {}
  void Begin(TimePoint now) { next_ = now; }
  // Returns the time of the next operation. Any thread may call it.
  TimePoint Next();

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_s_;
  TimePoint next_{};
};

// The figures since the last TakeRecent, for the time line.
struct RecentLoad {
  Duration write_max{}, read_max{};
  Duration bulk_wait_max{};
  LatencyHistogram writes;
};

class StormLoad {
 public:
  // The engine and the policy must outlive the load. `phases` is the number of phases that BeginPhase knows.
  StormLoad(StormEngine& engine, Policy& policy, const LoadOptions& options, int phases);
  ~StormLoad();

  void Start();
  // Begins a phase: interactive operations that are to start from now on count for it, and bulk work that ends from now
  // on. `bulk_bytes_per_second` is the rate of an open loop.
  void BeginPhase(int phase, BulkLoad::Kind bulk, double bulk_bytes_per_second);
  // Ends all threads, and returns the first error of an operation. May be called again. REQUIRES: Policy::Stop was
  // called, or no caller of the policy waits for long.
  Status Stop();
  // Returns true if the load has stopped, by Stop or because an operation failed.
  bool failed() const { return stop_; }

  const FeltFigures& figures(int phase) const { return *figures_[static_cast<size_t>(phase)]; }
  // Moves the figures since the last call into `into`.
  void TakeRecent(RecentLoad& into);

 private:
  struct PhaseStart {
    TimePoint at;
    int phase;
  };

  FeltFigures& FiguresAt(TimePoint intended);
  void WriteInteractive(uint64_t client);
  void ReadInteractive(uint64_t client);
  void WriteBulk(size_t party, uint64_t writer);
  void ScanLong(uint64_t scanner);
  void OnlySleep();
  bool WaitForBulk(TimePoint* intended, size_t bytes);
  void Fail(const rocksdb::Status& status);

  StormEngine& engine_;
  Policy& policy_;
  const LoadOptions options_;
  const int bulk_writers_;

  std::atomic<bool> stop_{false};
  PoissonSchedule writes_;
  PoissonSchedule reads_;
  PoissonSchedule sleeps_;
  std::vector<std::unique_ptr<FeltFigures>> figures_;

  std::mutex mutex_;  // protects the members up to threads_
  std::condition_variable bulk_changed_;
  std::vector<PhaseStart> starts_;
  BulkLoad::Kind bulk_ = BulkLoad::Kind::kNone;
  double bulk_bytes_per_second_ = 0;
  RecentLoad recent_;
  TimePoint last_write_end_{};
  Status error_;
  std::vector<std::thread> threads_;
};

}  // namespace weir
