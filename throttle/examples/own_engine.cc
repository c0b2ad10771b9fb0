// own_engine: an engine that is no RocksDB. A probe tells the throttle how full the engine's queue is, and bulk work
// waits before the queue is full.
#include <weir/throttle/adaptive_limiter.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>

namespace {

// An engine of another kind: a bounded queue of jobs.
struct JobEngine {
  static constexpr double kMostQueuedBytes = 8e6;
  std::atomic<double> queued_bytes{0};
  std::atomic<double> done_bytes_per_second{0};
};

// example: a probe of another engine
class JobProbe final : public weir::LoadProbe {
 public:
  explicit JobProbe(const JobEngine& engine) : engine_(engine) {}

  weir::Status Probe(weir::TimePoint, weir::LoadSample* sample) override {
    sample->Add(
        {.name = "backlog",
         .level = engine_.queued_bytes / JobEngine::kMostQueuedBytes,  // 1.0: where the engine itself would brake
         .bytes_per_level = JobEngine::kMostQueuedBytes,
         .dead_time = std::chrono::milliseconds(200),                // until a change of the inflow shows
         .drain_bytes_per_second = engine_.done_bytes_per_second});  // 0 where it is not known
    return {};
  }

 private:
  const JobEngine& engine_;
};
// end of example

// Works off the queue at 20 MB/s until `done`.
void WorkOff(JobEngine* engine, const std::atomic<bool>* done) {
  constexpr double kBytesPerSecond = 20e6;
  engine->done_bytes_per_second = kBytesPerSecond;
  auto last = std::chrono::steady_clock::now();
  while (!*done) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto now = std::chrono::steady_clock::now();
    const double worked = std::chrono::duration<double>(now - last).count() * kBytesPerSecond;
    engine->queued_bytes.fetch_sub(std::min<double>(engine->queued_bytes, worked));
    last = now;
  }
}

}  // namespace

int main() {
  constexpr int kJobs = 1000;
  constexpr double kJobBytes = 64 << 10;
  JobEngine engine;
  std::atomic<bool> done = false;
  std::thread worker(WorkOff, &engine, &done);

  weir::LoadMonitor monitor(std::make_unique<JobProbe>(engine));
  weir::AdaptiveLimiter limiter(monitor);
  monitor.Start();
  limiter.Start();
  // Jobs come at up to 64 MB/s, three times as fast as the engine does them.
  int admitted = 0;
  double fullest = 0;
  for (int i = 0; i < kJobs; ++i) {
    auto admission = limiter.Admit(weir::Operation::kWrite, {static_cast<uint64_t>(kJobBytes)},
                                   {.id = 1, .work_class = weir::WorkClass::kBulk});
    if (admission.Wait() == weir::Admission::State::kRefused) break;
    fullest = std::max(fullest, engine.queued_bytes.fetch_add(kJobBytes) + kJobBytes);
    ++admitted;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  done = true;
  worker.join();
  std::printf("%d jobs admitted; the queue was at most %.0f %% full\n", admitted,
              100 * fullest / JobEngine::kMostQueuedBytes);
  return admitted == kJobs ? 0 : 1;
}
