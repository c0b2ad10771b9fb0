// Measures the keyed limiter: a request for one key and for one of many, by one thread and by two; and the memory of a
// key and of a waiter.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/own_memory.h"
#include "config/manual_clock.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {
namespace {

class Ignoring : public KeyedCaller {
 public:
  void OnAnswer(const KeyedAnswer& answer) override { benchmark::DoNotOptimize(answer.code); }
};

KeyedConfig Config(KeyedLimits limits, size_t most = 2'000'000) {
  return {.rules = std::make_shared<KeyedRules>(limits), .max_keys = most, .max_waiting = most};
}

std::vector<std::string> Keys(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back("customer-" + std::to_string(1'000'000 + i));
  return keys;
}

// Nine of ten requests are refused, as in a window of 100 to which 1,000 come.
void OneKey(benchmark::State& state) {
  static KeyedLimiter limiter(Config({.window = std::chrono::milliseconds(1), .max_requests = 1000}));
  const auto caller = std::make_shared<Ignoring>();
  for (auto _ : state) limiter.Take({.key = "customer-1000000"}, caller);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneKey)->ThreadRange(1, 2)->UseRealTime();

// A store without a network: answers each request for a lease (a share of a key's limit) before Ask returns.
class NextDoor : public SharedWindows {
 public:
  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override {
    const Duration now = Clock::System().Now().time_since_epoch();
    const int64_t window = now / wish.window;
    if (window != window_) used_ = 0;
    window_ = window;
    const uint32_t granted = std::min(wish.grants, wish.limit - used_);
    used_ += granted;
    done({.answered = true,
          .window = window,
          .granted = granted,
          .used = used_,
          .remaining = (window + 1) * wish.window - now});
  }
  SharedWindowsHealth Health() const override { return {}; }

 private:
  int64_t window_ = -1;
  uint32_t used_ = 0;
};

// Measures a key whose window always has something left.
void OneSharedKey(benchmark::State& state) {
  KeyedLimiter limiter(Config({.max_requests = static_cast<uint32_t>(state.range(0))}), std::make_unique<NextDoor>());
  const auto caller = std::make_shared<Ignoring>();
  for (auto _ : state) limiter.Take({.key = "customer-1000000"}, caller);
  const KeyedCounts counts = limiter.Counts();
  state.counters["leases"] = benchmark::Counter(static_cast<double>(counts.leases), benchmark::Counter::kAvgIterations);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneSharedKey)->Arg(100'000'000)->Arg(10'000'000);

void OneKeyThatSlides(benchmark::State& state) {
  KeyedLimiter limiter(
      Config({.window = std::chrono::milliseconds(32), .max_requests = 100'000, .kind = WindowKind::kSliding}));
  const auto caller = std::make_shared<Ignoring>();
  for (auto _ : state) limiter.Take({.key = "customer-1000000"}, caller);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneKeyThatSlides);

void OneOfManyKeys(benchmark::State& state) {
  static const std::vector<std::string> keys = Keys(1'000'000);
  static KeyedLimiter limiter(Config({.window = std::chrono::hours(1)}));
  const auto caller = std::make_shared<Ignoring>();
  const auto many = static_cast<size_t>(state.range(0));
  size_t at = 0;
  for (auto _ : state) {
    at = (at + 7919) % many;
    limiter.Take({.key = keys[at]}, caller);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneOfManyKeys)->Arg(1'000)->Arg(1'000'000);

void TakeAndGiveBack(benchmark::State& state) {
  struct Remembering : KeyedCaller {
    void OnAnswer(const KeyedAnswer& answer) override { grant = answer.grant; }
    uint64_t grant = 0;
  };
  KeyedLimiter limiter(Config({}));
  const auto caller = std::make_shared<Remembering>();
  for (auto _ : state) {
    limiter.Take({.key = "customer-1000000"}, caller);
    limiter.GiveBack("customer-1000000", caller->grant, [](bool) {});
  }
}
BENCHMARK(TakeAndGiveBack);

void BytesOfAnIdleKey(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<std::string> keys = Keys(count);
  const ManualClock clock;
  const auto caller = std::make_shared<Ignoring>();
  for (auto _ : state) {
    KeyedLimiter limiter(Config({}), clock);
    const size_t before = HeapBytes();
    for (const std::string& key : keys) limiter.Take({.key = key}, caller);
    state.counters["bytes"] = static_cast<double>(HeapBytes() - before) / static_cast<double>(count);
  }
}
BENCHMARK(BytesOfAnIdleKey)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

void BytesOfAWaiter(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const ManualClock clock;
  const auto caller = std::make_shared<Ignoring>();
  for (auto _ : state) {
    KeyedLimiter limiter(Config({.max_requests = 1, .max_waiting = 1'000'000}), clock);
    limiter.Take({.key = "customer-1000000"}, caller);
    const size_t before = HeapBytes();
    for (size_t i = 0; i < count; ++i) limiter.Take({.key = "customer-1000000", .may_wait = true}, caller);
    state.counters["bytes"] = static_cast<double>(HeapBytes() - before) / static_cast<double>(count);
  }
}
BENCHMARK(BytesOfAWaiter)->Arg(400)->Arg(700'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
