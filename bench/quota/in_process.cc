#include "bench/quota/in_process.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/figure_tables.h"
#include "bench/measure/parallel_run.h"
#include "bench/quota/much.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

enum class Operation : uint8_t { kDecideRecord, kReserveCommit, kTakeTiers };

constexpr std::array kOperations = {Operation::kDecideRecord, Operation::kReserveCommit, Operation::kTakeTiers};
constexpr std::array<int, 3> kThreadCounts = {1, 2, 4};
// The calls of a thread between two of its steps of the clock. With more the steps would be uneven; with fewer the
// threads would mostly wait for the clock's cache line.
constexpr int kCallsInBatch = 16;
constexpr Duration kStretch = kMinute + std::chrono::milliseconds(1);

std::string NameOf(Operation operation) {
  switch (operation) {
    case Operation::kDecideRecord:
      return "Decide + RecordUsage";
    case Operation::kReserveCommit:
      return "Reserve + Commit";
    default:
      return "Take, 3 tiers";
  }
}

QuotaConfig ConfigOf(Operation operation, const std::vector<std::string>& models) {
  QuotaConfig config;
  for (const std::string& model : models) config.quotas[model] = {.max_rpm = kMuch, .max_tpm = kMuch, .max_rpd = kMuch};
  if (operation == Operation::kTakeTiers) {
    const Limits limits = {{.unit = Limit::Unit::kRequests, .amount = kMuch, .per = kMinute}};
    config.tiers.default_limits = {.user_model = limits, .model = limits, .instance = limits};
  }
  return config;
}

std::vector<std::string> MakeModels(size_t count) {
  std::vector<std::string> models;
  for (size_t i = 0; i < count; ++i) models.push_back("model-" + std::to_string(i));
  return models;
}

// A clock that the benchmark moves, so that the quotas' windows have as many entries as the benchmark wants. Reading it
// costs as much as reading the real clock.
class StepClock final : public WallClock {
 public:
  WallTime Now() const override {
    static const WallClock& real = WallClock::System();
    const WallTime read = real.Now();
    asm volatile("" : : "r"(read.time_since_epoch().count()));  // otherwise the compiler would remove the call
    return WallTime(Duration(now_.load(std::memory_order_relaxed)));
  }
  void Advance(Duration time) { now_.fetch_add(time.count(), std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> now_{Duration(std::chrono::hours(24 * 365 * 50)).count()};
};

// A limiter with a number of models and of entries in each window, both of which stay constant.
class Bench {
 public:
  Bench(Operation operation, size_t models, size_t entries)
      : operation_(operation),
        models_(MakeModels(models)),
        step_(entries == 0 ? kStretch / static_cast<int64_t>(models)
                           : kMinute / static_cast<int64_t>(entries * models)),
        batch_(entries == 0 ? 1 : kCallsInBatch),
        store_({}, clock_),
        limiter_(store_, ConfigOf(operation, models_)) {
    for (size_t i = 0; i < entries * models; ++i) {
      if (!Once(models_[i % models])) failed_ = true;
      clock_.Advance(step_);
    }
  }

  LoadFigures Measure(int threads, Duration time) {
    ParallelRun run = RunInParallel(threads, time, [&](size_t thread, const std::atomic<bool>& stop) {
      return Work(models_.size() / static_cast<size_t>(threads) * thread, stop);
    });
    // A reservation that the store released was not committed, so its pair does not count.
    run.count -= given_back_.exchange(0);
    return run.Figures();
  }
  bool failed() const { return failed_; }

 private:
  // Calls for one model after the other, beginning at this index.
  uint64_t Work(size_t at, const std::atomic<bool>& stop) {
    uint64_t done = 0;
    bool good = true;
    while (!stop.load(std::memory_order_relaxed)) {
      for (int i = 0; i < batch_; ++i) {
        good &= Once(models_[at]);
        at = at + 1 == models_.size() ? 0 : at + 1;
      }
      clock_.Advance(step_ * batch_);
      done += static_cast<uint64_t>(batch_);
    }
    if (!good) failed_ = true;
    return done;
  }

  bool Once(const std::string& model) {
    switch (operation_) {
      case Operation::kDecideRecord:
        return limiter_.Decide({.model = model, .tokens = 900}).allowed &&
               limiter_.RecordUsage(model, 600, 300).allowed;
      case Operation::kReserveCommit: {
        const Decision held =
            limiter_.Reserve({.model = model, .tokens = 900, .reservation_ttl = std::chrono::hours(24)});
        if (!held.allowed) return false;
        const Settled::Code settled = limiter_.Commit(held.reservation, 800).code;
        // If this thread stood still while the others moved the clock by a day, the store has released the reservation.
        if (settled == Settled::Code::kUnknownReservation) ++given_back_;
        return settled <= Settled::Code::kUnknownReservation;
      }
      default:
        return limiter_.Take({.model = model, .tokens = 900, .requester = {.user = "alice", .instance = "gpu-7"}})
            .allowed;
    }
  }

  const Operation operation_;
  const std::vector<std::string> models_;
  const Duration step_;
  const int batch_;
  StepClock clock_;
  MemoryQuotaStore store_;
  QuotaLimiter limiter_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> given_back_{0};
};

Status MeasureOne(Operation operation, size_t models, size_t entries, const InProcessOptions& options,
                  FigureTables* figures) {
  const std::string scenario = NameOf(operation) + ", " + std::to_string(models) +
                               (models == 1 ? " model, " : " models, ") + std::to_string(entries) +
                               " entries in each window";
  std::fprintf(stderr, "%s\n", scenario.c_str());
  Bench bench(operation, models, entries);
  for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
    for (const int threads : kThreadCounts) {
      if (entries == 0 && threads > 1) continue;  // other threads' entries would be in the window
      figures->Add(repetition, scenario, ThreadsInWords(threads), bench.Measure(threads, options.time));
    }
  }
  return bench.failed() ? Status::Error(scenario + ": something was refused") : Status();
}

}  // namespace

Status MeasureInProcess(const InProcessOptions& options, FigureTables* figures) {
  const std::vector<std::pair<size_t, size_t>> shapes = {{1, 0},    {1, 100},    {1, 1000},
                                                         {1, 4000}, {10'000, 0}, {10'000, 100}};
  for (const Operation operation : kOperations) {
    for (const auto& [models, entries] : shapes) {
      if (Status status = MeasureOne(operation, models, entries, options, figures); !status.ok()) return status;
    }
  }
  return {};
}

}  // namespace weir
