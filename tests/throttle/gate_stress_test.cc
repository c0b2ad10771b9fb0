// Everything at once from real threads. The proof is in the sanitizers and the balanced books.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "throttle/scan_gate.h"
#include "throttle/write_gate.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using State = Admission::State;

void Change(std::minstd_rand& random, WriteGate& gate) {
  WriteLimits limits;
  limits.open = random() % 8 == 0;
  limits.burst_bytes = 1e5;
  for (WriteLimit& c : limits) {
    c = {.bytes_per_second = random() % 4 == 0 ? 1e5 : 1e8,
         .longest_wait = milliseconds(1 + random() % 5),
         .hold = random() % 10 == 0,
         .reason = "l0"};
  }
  gate.SetLimits(limits);
}

void Change(std::minstd_rand& random, ScanGate& gate) {
  ScanLimits limits;
  limits.open = random() % 8 == 0;
  limits.at_once = static_cast<int64_t>(1 + random() % 4);
  limits.scan_bytes = random() % 3 == 0 ? 0 : 30'000;
  for (ScanLimit& c : limits) {
    c = {.longest_wait = milliseconds(1 + random() % 5), .refuse = random() % 10 == 0, .reason = "memory"};
  }
  gate.SetLimits(limits);
}

// The gate with a thread that pumps on request, as the limiter's does.
template <typename AnyGate>
class PumpedGate {
 public:
  PumpedGate()
      : gate_(Clock::System(), [this](TimePoint when) { Wake(when); }),
        thread_([this](std::stop_token s) { Run(s); }) {}
  ~PumpedGate() {
    thread_.request_stop();
    wake_up_.notify_one();
  }
  AnyGate& operator*() { return gate_; }

 private:
  void Wake(TimePoint when) {
    std::lock_guard lock(mutex_);
    next_ = std::min(next_, when);
    wake_up_.notify_one();
  }

  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      {
        std::lock_guard lock(mutex_);
        next_ = TimePoint::max();
      }
      const TimePoint pumped = gate_.Pump();
      std::unique_lock lock(mutex_);
      next_ = std::min(next_, pumped);
      const auto pause = std::min<Duration>(next_ - Clock::System().Now(), milliseconds(1));
      if (pause > Duration::zero() && !stop.stop_requested()) wake_up_.wait_for(lock, pause);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_up_;
  TimePoint next_ = TimePoint::max();
  AnyGate gate_;
  std::jthread thread_;
};

struct Outcomes {
  std::atomic<uint64_t> asked{0};
  std::atomic<uint64_t> settled_calls{0};
};

// Asks, and then waits, looks, listens, moves or gives up.
void Work(Gate& gate, Outcomes& outcomes, uint64_t seed, std::chrono::steady_clock::time_point end) {
  std::minstd_rand random(static_cast<unsigned>(seed));
  while (std::chrono::steady_clock::now() < end) {
    const Party party{.id = random() % 5, .work_class = static_cast<WorkClass>(random() % 2)};
    Admission admission = gate.Admit({random() % 50'000}, party);
    ++outcomes.asked;
    // Lives longer than the admission, not only than the call.
    std::atomic<int> calls = 0;
    Admission held = std::move(admission);
    switch (random() % 6) {
      case 0:
        EXPECT_NE(held.Wait(), State::kWaiting);
        break;
      case 1:
        held.Poll();
        break;
      case 2:
        held.OnSettled([&] {
          ++calls;
          calls.notify_one();
        });
        calls.wait(0);
        EXPECT_NE(held.Poll(), State::kWaiting);
        EXPECT_EQ(calls, 1);
        ++outcomes.settled_calls;
        break;
      case 3:
        // It may be called or not, but never after the admission ends.
        held.OnSettled([&] { ++calls; });
        break;
      case 4:
        held.OnSettled([&] { ++calls; });
        if (!held.Cancel()) {
          EXPECT_EQ(calls, 1);
        }
        break;
      default:
        break;
    }
  }
}

template <typename AnyGate>
void KeepsItsBooks() {
  PumpedGate<AnyGate> pumped;
  AnyGate& gate = *pumped;
  Outcomes outcomes;
  const auto end = std::chrono::steady_clock::now() + milliseconds(350);
  {
    std::vector<std::jthread> threads;
    for (uint64_t t = 0; t < 6; ++t) threads.emplace_back([&, t] { Work(gate, outcomes, t + 1, end); });
    threads.emplace_back([&] {
      std::minstd_rand random(99);
      while (std::chrono::steady_clock::now() < end) {
        Change(random, gate);
        if (random() % 20 == 0) gate.RefuseAll("stopped");
        gate.TakePressed(WorkClass::kBulk);
        EXPECT_GE(gate.Stats().running, 0);
        std::this_thread::yield();
      }
    });
  }
  const GateStats stats = gate.Stats();
  EXPECT_EQ(stats.waiting, 0U);
  EXPECT_EQ(stats.running, 0);
  uint64_t refused = 0;
  for (const auto& [reason, count] : stats.refused) refused += count;
  EXPECT_EQ(stats.admitted[0].operations + stats.admitted[1].operations + refused + stats.cancelled, outcomes.asked);
  EXPECT_GT(outcomes.settled_calls, 0U);
}

TEST(GateStress, PacedWritesKeepTheirBooksUnderManyThreads) { KeepsItsBooks<WriteGate>(); }
TEST(GateStress, ScansKeepTheirBooksUnderManyThreads) { KeepsItsBooks<ScanGate>(); }

}  // namespace
}  // namespace weir
