#include "bench/limiters/in_process.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/parallel_run.h"
#include "throttle/limits/keyed/keyed_limiter.h"
#include "throttle/limits/queued/queued_limiter.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

constexpr std::array kThreads = {1, 2};
constexpr int kBatch = 64;  // decisions between two looks at `stop`

class IgnoringKeyed final : public KeyedCaller {
 public:
  void OnAnswer(const KeyedAnswer&) override {}
};

class IgnoringQueued final : public QueuedCaller {
 public:
  void OnAnswer(const QueuedAnswer&) override {}
};

// Each thread has one of its own.
using Decide = std::function<void()>;
struct Scenario {
  std::string name;
  std::function<Decide()> make;
};

// The keyed limiter and the queued one refuse most requests, as when ten times as many come as may pass.
std::vector<Scenario> Scenarios() {
  const auto store = std::make_shared<MemoryQuotaStore>();
  QuotaConfig quotas;
  quotas.quotas["gpt-4o"] = {.max_rpm = 1'000'000'000, .max_tpm = 1'000'000'000'000, .max_rpd = 0};
  const auto quota = std::make_shared<QuotaLimiter>(*store, quotas);
  const auto keyed =
      std::make_shared<KeyedLimiter>(KeyedConfig{.rules = std::make_shared<KeyedRules>(KeyedLimits{
                                                     .window = std::chrono::milliseconds(1), .max_requests = 1000})});
  const EndpointRule rule{.path = "/api", .rate = 1e6, .max_queue_size = 0};
  const auto queued =
      std::make_shared<QueuedLimiter>(QueuedConfig{.rules = QueuedRules::Make({rule}, /*max_dynamic=*/1000).value()});
  return {{.name = "quota: Take of a model",
           .make = [store, quota] { return [store, quota] { quota->Take({.model = "gpt-4o", .tokens = 900}); }; }},
          {.name = "keyed: Take of a key",
           .make =
               [keyed] {
                 return [keyed, caller = std::make_shared<IgnoringKeyed>()] {
                   keyed->Take({.key = "customer-1000000"}, caller);
                 };
               }},
          {.name = "queued: Take at a path", .make = [queued] {
             return [queued, caller = std::make_shared<IgnoringQueued>()] { queued->Take({.path = "/api"}, caller); };
           }}};
}

LoadFigures Measure(const Scenario& scenario, int threads, Duration time) {
  std::vector<Decide> decide(static_cast<size_t>(threads));
  std::ranges::generate(decide, scenario.make);
  return RunInParallel(threads, time,
                       [&decide](size_t thread, const std::atomic<bool>& stop) {
                         uint64_t count = 0;
                         for (; !stop.load(std::memory_order_relaxed); count += kBatch)
                           for (int n = 0; n < kBatch; ++n) decide[thread]();
                         return count;
                       })
      .Figures();
}

}  // namespace

void MeasureLimitersInProcess(const InProcessLoad& load, FigureTables* figures) {
  const std::vector<Scenario> scenarios = Scenarios();
  for (int repetition = 1; repetition <= load.repetitions; ++repetition)
    for (const Scenario& scenario : scenarios)
      for (const int threads : kThreads)
        figures->Add(repetition, scenario.name, ThreadsInWords(threads), Measure(scenario, threads, load.time));
}

}  // namespace weir
