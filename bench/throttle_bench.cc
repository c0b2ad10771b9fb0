// Measures the cost of the throttle: on the path of every operation while the gate is open, in a decision while it is
// closed, and once a tick.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <vector>

#include "config/manual_clock.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/fair_queue.h"
#include "throttle/pid_controller.h"
#include "throttle/write_gate.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Cost kCost{.bytes = 1000};

// An engine that stands at `level`, with a limiter that has looked at it once.
class Bench {
 public:
  explicit Bench(double level) : monitor_(std::make_unique<Standing>(level)), limiter_(monitor_) {
    (void)monitor_.SampleOnce();
    limiter_.Tick();
  }
  AdaptiveLimiter& limiter() { return limiter_; }

 private:
  class Standing final : public LoadProbe {
   public:
    explicit Standing(double level) : level_(level) {}

   private:
    Status Probe(TimePoint, LoadSample* sample) override {
      sample->Add({.name = "l0",
                   .level = level_,
                   .bytes_per_level = 40e15,
                   .dead_time = seconds(1),
                   .drain_bytes_per_second = 1e18});
      sample->write_burst_bytes = uint64_t{1} << 60;
      return Status();
    }
    const double level_;
  };
  LoadMonitor monitor_;
  AdaptiveLimiter limiter_;
};

Party PartyOf(const benchmark::State& state) { return {.id = static_cast<uint64_t>(state.thread_index())}; }

void PidUpdate(benchmark::State& state) {
  PidController pid(PidSettings{});
  double level = 0.5;
  for (auto _ : state) {
    level = level < 1.2 ? level + 0.001 : 0.5;
    benchmark::DoNotOptimize(pid.Update(level, milliseconds(100)));
  }
}
BENCHMARK(PidUpdate);

std::unique_ptr<Bench> open_bench;

void AdmitOpen(benchmark::State& state) {
  if (state.thread_index() == 0) open_bench = std::make_unique<Bench>(0.0);
  for (auto _ : state) {
    const Admission admission = open_bench->limiter().Admit(Operation::kWrite, kCost, PartyOf(state));
    benchmark::DoNotOptimize(admission.admitted());
  }
  if (state.thread_index() == 0 && !open_bench->limiter().Reason(Operation::kWrite).empty()) {
    state.SkipWithError("the gate closed");
  }
}
BENCHMARK(AdmitOpen)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

// For comparison: the cost of one counter that all threads share.
std::atomic<uint64_t> shared_bytes;

void SharedAtomicCounter(benchmark::State& state) {
  for (auto _ : state) shared_bytes.fetch_add(kCost.bytes, std::memory_order_relaxed);
}
BENCHMARK(SharedAtomicCounter)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void MaybeThrottleOpen(benchmark::State& state) {
  if (state.thread_index() == 0) open_bench = std::make_unique<Bench>(0.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(open_bench->limiter().MaybeThrottle(Operation::kWrite, kCost, PartyOf(state)));
  }
}
BENCHMARK(MaybeThrottleOpen)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

// The gate is closed, and there are tokens: the decision alone, with the machine's clock.
void AdmitClosedWithTokens(benchmark::State& state) {
  if (state.thread_index() == 0) open_bench = std::make_unique<Bench>(0.8);
  for (auto _ : state) {
    const Admission admission = open_bench->limiter().Admit(Operation::kWrite, kCost, PartyOf(state));
    if (!admission.admitted()) state.SkipWithError("no tokens");
  }
}
BENCHMARK(AdmitClosedWithTokens)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

// A gate without tokens. At a rate of 0 it refuses.
struct Shut {
  explicit Shut(double bytes_per_second) {
    WriteLimits limits;
    limits.open = false;
    limits.burst_bytes = 1000;
    for (WriteLimit& c : limits) {
      c = {.bytes_per_second = bytes_per_second, .longest_wait = seconds(1), .reason = "l0"};
    }
    gate.SetLimits(limits);
    const Admission rest = gate.Admit(kCost, {});
  }
  WriteGate gate{Clock::System(), [](TimePoint) {}};
};
std::unique_ptr<Shut> shut;

void AdmitRefused(benchmark::State& state) {
  if (state.thread_index() == 0) shut = std::make_unique<Shut>(0);
  for (auto _ : state) {
    const Admission admission = shut->gate.Admit(kCost, PartyOf(state));
    if (!admission.refused()) state.SkipWithError("it passed");
  }
}
BENCHMARK(AdmitRefused)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

// A whole wait: into the queue, a turn by Pump, and out again.
void WaitAndGrant(benchmark::State& state) {
  const auto parties = static_cast<uint64_t>(state.range(0));
  ManualClock clock(TimePoint{seconds(1)});
  WriteGate gate(clock, [](TimePoint) {});
  WriteLimits limits;
  limits.open = false;
  limits.burst_bytes = 1000;
  for (WriteLimit& c : limits) c = {.bytes_per_second = 1e6, .longest_wait = seconds(600), .reason = "l0"};
  gate.SetLimits(limits);
  const Admission rest = gate.Admit(kCost, {});
  std::vector<Admission> waiting;
  for (uint64_t party = 0; party < parties; ++party) waiting.push_back(gate.Admit(kCost, {.id = party}));
  size_t next = 0;
  for (auto _ : state) {
    clock.Advance(milliseconds(1));
    gate.Pump();
    waiting[next].Poll();
    waiting[next] = gate.Admit(kCost, {.id = next});
    next = (next + 1) % waiting.size();
  }
}
BENCHMARK(WaitAndGrant)->Arg(1)->Arg(10)->Arg(1000);

void FairQueuePushPop(benchmark::State& state) {
  const auto parties = static_cast<uint64_t>(state.range(0));
  FairQueue queue;
  std::vector<Waiter> waiters(2 * parties);
  for (uint64_t n = 0; n < waiters.size(); ++n) {
    waiters[n].party.id = n % parties;
    waiters[n].bytes = 1000 + n % 7 * 100;
    queue.Push(waiters[n]);
  }
  for (auto _ : state) {
    Waiter* front = queue.Front();
    queue.PopServed(*front);
    queue.Push(*front);
  }
}
BENCHMARK(FairQueuePushPop)->Arg(1)->Arg(10)->Arg(1000);

void Tick(benchmark::State& state) {
  Bench bench(0.8);
  for (auto _ : state) bench.limiter().Tick();
}
BENCHMARK(Tick);

}  // namespace
}  // namespace weir
