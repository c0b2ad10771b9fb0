// Measures the queued limiter: a request that is served or refused at once, on one path and on one of many, by one
// thread and by two; a request that waits, and is served or leaves; and the memory of an endpoint and of a waiter.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/measure/own_memory.h"
#include "config/manual_clock.h"
#include "throttle/limits/queued/queued_limiter.h"

namespace weir {
namespace {

using Algorithm = EndpointConfig::Algorithm;
using Scheduler = EndpointConfig::Scheduler;

class IgnoringTicket : public QueuedCaller {
 public:
  void OnWaiting(QueuedTicket given) override { ticket = given; }
  void OnAnswer(const QueuedAnswer& answer) override { benchmark::DoNotOptimize(answer.code); }
  QueuedTicket ticket;
};

QueuedConfig QueuedOf(EndpointRule rule, size_t most = 2'000'000) {
  rule.path = "/api";
  if (!rule.rate) rule.rate = 10'000;
  return {.rules = QueuedRules::Make({std::move(rule)}, most).value(), .max_waiting = most};
}

std::vector<std::string> Paths(size_t count) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < count; ++i) paths.push_back("/api/customer-" + std::to_string(1'000'000 + i));
  return paths;
}

void OnePath(benchmark::State& state, Algorithm algorithm, double rate, std::shared_ptr<QueuedEvents> events) {
  static std::unique_ptr<QueuedLimiter> limiter;
  if (state.thread_index() == 0) {
    EndpointRule rule{.rate = rate, .algorithm = algorithm, .max_queue_size = 0, .tokens_per_window = 1'000'000'000};
    QueuedConfig config = QueuedOf(rule);
    config.events = std::move(events);
    limiter = std::make_unique<QueuedLimiter>(std::move(config));
  }
  const auto caller = std::make_shared<IgnoringTicket>();
  for (auto _ : state) limiter->Take({.path = "/api"}, caller);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(OnePath, strict_served, Algorithm::kStrict, 1e9, nullptr)->ThreadRange(1, 2)->UseRealTime();
BENCHMARK_CAPTURE(OnePath, strict_refused, Algorithm::kStrict, 10, nullptr);
BENCHMARK_CAPTURE(OnePath, token_bucket, Algorithm::kTokenBucket, 1e6, nullptr);
BENCHMARK_CAPTURE(OnePath, sliding_window, Algorithm::kSlidingWindow, 1e6, nullptr);
BENCHMARK_CAPTURE(OnePath, token_window, Algorithm::kTokenWindow, 1, nullptr);
// No reader takes the events: they are dropped, and counted.
BENCHMARK_CAPTURE(OnePath, strict_served_with_events, Algorithm::kStrict, 1e9, std::make_shared<QueuedEvents>());

void OneOfManyPaths(benchmark::State& state) {
  static const std::vector<std::string> paths = Paths(100'000);
  QueuedLimiter limiter(QueuedOf({}));
  const auto caller = std::make_shared<IgnoringTicket>();
  const auto many = static_cast<size_t>(state.range(0));
  for (size_t i = 0; i < many; ++i) limiter.Take({.path = paths[i]}, caller);
  size_t at = 0;
  for (auto _ : state) {
    at = (at + 7919) % many;
    limiter.Take({.path = paths[at]}, caller);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OneOfManyPaths)->Arg(1'000)->Arg(100'000);

// The argument is the number of waiting requests. In each step one more arrives, and one is served.
void WaitAndBeServed(benchmark::State& state, Scheduler scheduler) {
  ManualClock clock;
  QueuedLimiter limiter(QueuedOf({.rate = 1'000'000, .scheduler = scheduler, .max_queue_size = 1'000'000}), clock);
  const auto caller = std::make_shared<IgnoringTicket>();
  int32_t priority = 0;
  const auto take = [&] { limiter.Take({.path = "/api", .priority = ++priority * 7919 % 101}, caller); };
  for (int64_t i = 0; i <= state.range(0); ++i) take();
  for (auto _ : state) {
    clock.Advance(std::chrono::microseconds(1));
    take();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(WaitAndBeServed, fifo, Scheduler::kFifo)->Arg(1)->Arg(10'000);
BENCHMARK_CAPTURE(WaitAndBeServed, lifo, Scheduler::kLifo)->Arg(10'000);
BENCHMARK_CAPTURE(WaitAndBeServed, priority, Scheduler::kPriority)->Arg(10'000);
BENCHMARK_CAPTURE(WaitAndBeServed, random, Scheduler::kRandom)->Arg(10'000);

void WaitAndLeave(benchmark::State& state) {
  const ManualClock clock;
  QueuedLimiter limiter(QueuedOf({.max_queue_size = 1'000'000}), clock);
  const auto caller = std::make_shared<IgnoringTicket>();
  for (int64_t i = 0; i <= state.range(0); ++i) limiter.Take({.path = "/api"}, caller);
  for (auto _ : state) {
    limiter.Take({.path = "/api"}, caller);
    limiter.Leave(caller->ticket);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(WaitAndLeave)->Arg(10'000);

void BytesOfAnEndpoint(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<std::string> paths = Paths(count);
  const ManualClock clock;
  const auto caller = std::make_shared<IgnoringTicket>();
  for (auto _ : state) {
    QueuedLimiter limiter(QueuedOf({}), clock);
    const size_t before = HeapBytes();
    for (const std::string& path : paths) limiter.Take({.path = path}, caller);
    state.counters["bytes"] = static_cast<double>(HeapBytes() - before) / static_cast<double>(count);
  }
}
BENCHMARK(BytesOfAnEndpoint)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

void BytesOfATicket(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const ManualClock clock;
  const auto caller = std::make_shared<IgnoringTicket>();
  for (auto _ : state) {
    QueuedLimiter limiter(QueuedOf({.max_queue_size = 1'000'000}), clock);
    limiter.Take({.path = "/api"}, caller);
    const size_t before = HeapBytes();
    for (size_t i = 0; i < count; ++i) limiter.Take({.path = "/api"}, caller);
    state.counters["bytes"] = static_cast<double>(HeapBytes() - before) / static_cast<double>(count);
  }
}
BENCHMARK(BytesOfATicket)->Arg(500)->Arg(700'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
