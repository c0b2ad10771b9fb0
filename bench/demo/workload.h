// The load of the demonstration: somebody waits for small writes that come at their own pace, while bulk writers push
// as hard as they can.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "config/clock.h"
#include "config/status.h"
#include "throttle/adaptive_limiter.h"

namespace rocksdb {
class DB;
}

namespace weir {

struct WorkloadOptions {
  double interactive_per_second = 200;  // Poisson
  int bulk_writers = 4;
  int bulk_batch = 16;  // values in one batch
  uint64_t keys = 75'000;
  size_t value_bytes = 1000;
};

// Sixteen digits.
std::string WorkloadKey(uint64_t number);

class Workload {
 public:
  // Both must outlive the workload. A limiter that was not started lets everything pass.
  Workload(rocksdb::DB& db, AdaptiveLimiter& limiter, const WorkloadOptions& options);
  ~Workload();

  void Start();
  // Idempotent. The first error of a write, if there was one.
  Status Stop();

  // From the intended start of a write to its end, so that a stall counts for all who should have started in it.
  const LatencyHistogram& latencies() const { return latencies_; }
  uint64_t interactive_refused() const { return interactive_refused_.load(std::memory_order_relaxed); }
  uint64_t bulk_bytes() const { return bulk_bytes_.load(std::memory_order_relaxed); }
  // Longest wait of a bulk batch at the gate since the last call.
  Duration TakeLongestBulkWait();
  // The same latencies, since the last call.
  void TakeRecent(LatencyHistogram& into);

 private:
  void WriteInteractive();
  void WriteBulk(uint64_t writer);
  void Fail(const std::string& message);

  rocksdb::DB& db_;
  AdaptiveLimiter& limiter_;
  const WorkloadOptions options_;
  const std::string value_;

  std::atomic<bool> stop_{false};
  LatencyHistogram latencies_;
  LatencyHistogram recent_;
  std::atomic<uint64_t> interactive_refused_{0};
  std::atomic<uint64_t> bulk_bytes_{0};
  std::atomic<int64_t> longest_bulk_wait_ns_{0};
  std::mutex error_mutex_;
  Status error_;
  std::vector<std::thread> threads_;
};

}  // namespace weir
