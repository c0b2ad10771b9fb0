#include "bench/demo/workload.h"

#include <rocksdb/db.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

namespace weir {
namespace {

// What a value costs beside itself: its key and the WAL's and memtable's bookkeeping.
constexpr size_t kKeyBytes = 16;

std::string RandomBytes(size_t size) {
  std::mt19937_64 random(1);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
  return bytes;
}

}  // namespace

std::string WorkloadKey(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kKeyBytes - std::min(kKeyBytes, digits.size()), '0') + digits;
}

Workload::Workload(rocksdb::DB& db, AdaptiveLimiter& limiter, const WorkloadOptions& options)
    : db_(db), limiter_(limiter), options_(options), value_(RandomBytes(options.value_bytes)) {}

Workload::~Workload() { (void)Stop(); }

void Workload::Start() {
  threads_.emplace_back([this] { WriteInteractive(); });
  for (int i = 0; i < options_.bulk_writers; ++i)
    threads_.emplace_back([this, i] { WriteBulk(static_cast<uint64_t>(i)); });
}

Status Workload::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::lock_guard lock(error_mutex_);
  return error_;
}

Duration Workload::TakeLongestBulkWait() { return Duration(longest_bulk_wait_ns_.exchange(0)); }

void Workload::TakeRecent(LatencyHistogram& into) {
  into.Merge(recent_);
  recent_.Clear();
}

void Workload::WriteInteractive() {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> gap_s(options_.interactive_per_second);
  TimePoint intended = Clock::System().Now();
  while (!stop_) {
    intended += FromSeconds(gap_s(random));
    std::this_thread::sleep_until(intended);
    Admission admission = limiter_.Admit(Operation::kWrite, {kKeyBytes + value_.size()}, {.id = 1});
    if (admission.Wait() == Admission::State::kRefused) {
      interactive_refused_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    const rocksdb::Status status = db_.Put({}, WorkloadKey(random() % options_.keys), value_);
    if (!status.ok()) return Fail(status.ToString());
    const Duration latency = Clock::System().Now() - intended;
    latencies_.Record(latency);
    recent_.Record(latency);
  }
}

void Workload::WriteBulk(uint64_t writer) {
  std::mt19937_64 random(100 + writer);
  while (!stop_) {
    rocksdb::WriteBatch batch;
    for (int i = 0; i < options_.bulk_batch; ++i) batch.Put(WorkloadKey(random() % options_.keys), value_);
    Admission admission =
        limiter_.Admit(Operation::kWrite, {batch.GetDataSize()}, {.id = 100 + writer, .work_class = WorkClass::kBulk});
    if (admission.Wait() == Admission::State::kRefused) continue;
    int64_t longest = longest_bulk_wait_ns_.load();
    while (admission.waited().count() > longest &&
           !longest_bulk_wait_ns_.compare_exchange_weak(longest, admission.waited().count())) {
    }
    const rocksdb::Status status = db_.Write({}, &batch);
    if (!status.ok()) return Fail(status.ToString());
    bulk_bytes_.fetch_add(batch.GetDataSize(), std::memory_order_relaxed);
  }
}

void Workload::Fail(const std::string& message) {
  stop_ = true;
  std::lock_guard lock(error_mutex_);
  if (error_.ok()) error_ = Status::Error("RocksDB refused a write: " + message);
}

}  // namespace weir
