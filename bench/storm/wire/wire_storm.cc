#include "bench/storm/wire/wire_storm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/storm/figures.h"
#include "bench/storm/load.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr Duration kNap = std::chrono::milliseconds(20);
constexpr uint64_t kFirstParty = 100;

struct WirePhase {
  const char* name;
  double seconds;
  bool bulk;
  LatencyHistogram writes;
  LatencyHistogram reads;
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> bulk_bytes{0};
  double highest_level = 0;
  double level_sum = 0;
  uint64_t levels = 0;
};

// One run. The limiter may be null.
class WireRun {
 public:
  WireRun(WireEngine& engine, const WireStormPlan& plan, LoadMonitor& monitor, AdaptiveLimiter* limiter)
      : engine_(engine),
        plan_(plan),
        monitor_(monitor),
        limiter_(limiter),
        value_(plan.value_bytes, 'x'),
        writes_(plan.writes_per_second, 2),
        reads_(plan.reads_per_second, 3) {
    std::mt19937_64 random(1);
    for (char& c : value_) c = static_cast<char>('a' + random() % 26);
    phases_[0].name = "calm";
    phases_[0].seconds = plan.calm_seconds;
    phases_[0].bulk = false;
    phases_[1].name = "burst";
    phases_[1].seconds = plan.burst_seconds;
    phases_[1].bulk = true;
  }

  Status Go() {
    const TimePoint now = Clock::System().Now();
    writes_.Begin(now);
    reads_.Begin(now);
    std::vector<std::thread> threads;
    for (int i = 0; i < plan_.clients; ++i) {
      threads.emplace_back([this, i] { WorkInteractively(static_cast<uint64_t>(i), true); });
      threads.emplace_back([this, i] { WorkInteractively(static_cast<uint64_t>(i), false); });
    }
    for (int i = 0; i < plan_.bulk_writers; ++i)
      threads.emplace_back([this, i] { WriteBulk(static_cast<uint64_t>(i)); });
    for (phase_ = 0; phase_ < 2 && !stop_; ++phase_) Watch(phases_[phase_]);
    stop_ = true;
    if (limiter_ != nullptr) limiter_->Stop();
    for (std::thread& thread : threads) thread.join();
    const std::lock_guard lock(mutex_);
    return error_;
  }
  const WirePhase& phase(size_t i) const { return phases_[i]; }

 private:
  void Watch(WirePhase& phase) {
    const TimePoint end = Clock::System().Now() + FromSeconds(phase.seconds);
    while (Clock::System().Now() < end && !stop_) {
      std::this_thread::sleep_for(kNap);
      const double level = monitor_.LoadLevel();
      phase.highest_level = std::max(phase.highest_level, level);
      phase.level_sum += level;
      ++phase.levels;
    }
  }
  WirePhase& Now() { return phases_[std::min<size_t>(phase_, 1)]; }

  // False: it may not.
  bool Enter(Operation operation, uint64_t bytes, const Party& party, Admission* admission) {
    if (limiter_ == nullptr) return true;
    *admission = limiter_->Admit(operation, {bytes}, party);
    return admission->Wait() == Admission::State::kAdmitted;
  }

  void WorkInteractively(uint64_t client, bool writes) {
    const std::unique_ptr<WireClient> connection = engine_.Connect();
    std::mt19937_64 random(1000 + 2 * client + (writes ? 1 : 0));
    while (!stop_) {
      const TimePoint intended = (writes ? writes_ : reads_).Next();
      std::this_thread::sleep_until(intended);
      WirePhase& phase = Now();
      const uint64_t key = random() % plan_.keys;
      Admission admission;
      if (!Enter(writes ? Operation::kWrite : Operation::kRead, plan_.value_bytes, {.id = 1000 + client}, &admission)) {
        ++phase.refused;
        continue;
      }
      const Status done = writes ? connection->Write({&key, 1}, value_) : connection->Read(key);
      if (!done.ok()) return Fail(done);
      (writes ? phase.writes : phase.reads).Record(Clock::System().Now() - intended);
    }
  }

  void WriteBulk(uint64_t writer) {
    const std::unique_ptr<WireClient> connection = engine_.Connect();
    std::mt19937_64 random(kFirstParty + writer);
    std::vector<uint64_t> keys(static_cast<size_t>(plan_.bulk_batch));
    const uint64_t bytes = keys.size() * plan_.value_bytes;
    while (!stop_) {
      if (!Now().bulk) {
        std::this_thread::sleep_for(kNap);
        continue;
      }
      for (uint64_t& key : keys) key = random() % plan_.keys;
      // Two writers that take each other's keys in another order wait for each other.
      std::ranges::sort(keys);
      keys.erase(std::ranges::unique(keys).begin(), keys.end());
      Admission admission;
      if (!Enter(Operation::kWrite, bytes, {.id = kFirstParty + writer, .work_class = WorkClass::kBulk}, &admission)) {
        std::this_thread::sleep_for(kNap);
        continue;
      }
      if (const Status done = connection->Write(keys, value_); !done.ok()) return Fail(done);
      keys.resize(static_cast<size_t>(plan_.bulk_batch));
      Now().bulk_bytes += bytes;
    }
  }

  void Fail(const Status& status) {
    stop_ = true;
    const std::lock_guard lock(mutex_);
    if (error_.ok()) error_ = status;
  }

  WireEngine& engine_;
  const WireStormPlan& plan_;
  LoadMonitor& monitor_;
  AdaptiveLimiter* const limiter_;
  std::string value_;
  PoissonSchedule writes_;
  PoissonSchedule reads_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> phase_ = 0;
  std::array<WirePhase, 2> phases_;
  std::mutex mutex_;
  Status error_;
};

PhaseRow RowOf(const RunKey& key, const WirePhase& phase) {
  PhaseRow row{.run = key, .phase = phase.name};
  for (const NumberColumn& column : NumberColumns()) row.*column.number = std::numeric_limits<double>::quiet_NaN();
  row.seconds = phase.seconds;
  row.writes = static_cast<double>(phase.writes.count());
  row.write_p50_ms = Milliseconds(phase.writes.Quantile(0.5));
  row.write_p99_ms = Milliseconds(phase.writes.Quantile(0.99));
  row.write_p999_ms = Milliseconds(phase.writes.Quantile(0.999));
  row.write_max_ms = Milliseconds(phase.writes.max());
  row.read_p50_ms = Milliseconds(phase.reads.Quantile(0.5));
  row.read_p99_ms = Milliseconds(phase.reads.Quantile(0.99));
  row.read_p999_ms = Milliseconds(phase.reads.Quantile(0.999));
  row.refused = static_cast<double>(phase.refused);
  row.bulk_mb_per_second = static_cast<double>(phase.bulk_bytes) / 1e6 / phase.seconds;
  row.adjusted_bulk_mb_per_second = row.bulk_mb_per_second;
  row.highest_level = phase.highest_level;
  row.mean_level = phase.level_sum / static_cast<double>(std::max<uint64_t>(1, phase.levels));
  row.braked_seconds = 0;
  return row;
}

std::vector<CcdfPoint> CcdfOf(const LatencyHistogram& writes) {
  std::vector<CcdfPoint> points;
  const auto count = static_cast<double>(writes.count());
  for (double share = 0.9; share * count >= 1; share *= 0.9)
    points.push_back({Milliseconds(writes.Quantile(1 - share)), share});
  return points;
}

Status RunOnce(WireEngine& engine, const WireStormPlan& plan, const RunKey& key) {
  if (Status prepared = engine.Prepare(); !prepared.ok()) return prepared;
  const std::unique_ptr<LoadMonitor> monitor = engine.MakeMonitor();
  std::unique_ptr<AdaptiveLimiter> limiter;
  monitor->Start();
  if (key.policy == "weir") {
    limiter = std::make_unique<AdaptiveLimiter>(*monitor, plan.limiter);
    limiter->Start();
  }
  WireRun run(engine, plan, *monitor, limiter.get());
  if (Status went = run.Go(); !went.ok()) return went;
  monitor->Stop();
  const fs::path results = plan.results;
  if (Status s = WriteCcdf(results / "ccdf" / (RunName(key) + ".csv"), CcdfOf(run.phase(1).writes)); !s.ok()) return s;
  return AppendRows(results / "results.csv", {RowOf(key, run.phase(0)), RowOf(key, run.phase(1))});
}

double MedianOf(const std::vector<PhaseRow>& rows, const std::string& policy, const std::string& phase,
                double PhaseRow::*number) {
  std::vector<double> values;
  for (const PhaseRow& row : rows)
    if (row.run.policy == policy && row.phase == phase) values.push_back(row.*number);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void Print(const std::vector<PhaseRow>& rows) {
  std::printf(
      "| phase, policy | writes p50 | p99 | p99.9 ms | reads p50 | p99 ms | bulk MB/s | level, mean |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const char* const phase : {"calm", "burst"})
    for (const char* const policy : {"alone", "weir"}) {
      const auto m = [&](double PhaseRow::*number) { return MedianOf(rows, policy, phase, number); };
      std::printf("| %s, %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f |\n", phase, policy,
                  m(&PhaseRow::write_p50_ms), m(&PhaseRow::write_p99_ms), m(&PhaseRow::write_p999_ms),
                  m(&PhaseRow::read_p50_ms), m(&PhaseRow::read_p99_ms), m(&PhaseRow::bulk_mb_per_second),
                  m(&PhaseRow::mean_level));
    }
}

}  // namespace

WireStormPlan PostgresPlan() { return {}; }

WireStormPlan Neo4jPlan() {
  return {.writes_per_second = 20, .reads_per_second = 20, .clients = 32, .bulk_writers = 64, .keys = 100'000};
}

Status RunWireStorm(WireEngine& engine, const WireStormPlan& plan) {
  std::error_code ignored;  // writing says it better
  fs::create_directories(fs::path(plan.results) / "ccdf", ignored);
  for (int repetition = 1; repetition <= plan.repetitions; ++repetition)
    for (const char* const policy : {"alone", "weir"}) {
      const RunKey key{.scenario = "burst", .policy = policy, .repetition = repetition};
      std::fprintf(stderr, "%s\n", RunName(key).c_str());
      if (Status ran = RunOnce(engine, plan, key); !ran.ok()) return ran;
    }
  const Result<std::vector<PhaseRow>> rows = ReadRows(fs::path(plan.results) / "results.csv");
  if (!rows.ok()) return rows.status();
  Print(rows.value());
  return {};
}

}  // namespace weir
