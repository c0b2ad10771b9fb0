#include "bench/storm/wire/wire_storm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/measure/machine.h"
#include "bench/storm/figures.h"
#include "bench/storm/load.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kEnoughForP999 = 10'000;

struct WirePhase {
  const char* name;
  double seconds;
  LatencyHistogram writes;
  LatencyHistogram reads;
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> bulk_bytes{0};
  double highest_level = 0;
  double level_sum = 0;
  uint64_t levels = 0;
  uint64_t escapes = 0;
  double cpu_seconds = 0;
};

// Carries out one run. Without weir, the limiter is null.
class WireRun {
 public:
  WireRun(WireEngine& engine, const WireStormPlan& plan, LoadMonitor& monitor, AdaptiveLimiter* limiter)
      : engine_(engine),
        plan_(plan),
        monitor_(monitor),
        limiter_(limiter),
        value_(plan.value_bytes, 'x'),
        writes_(plan.writes_per_second, 2),
        reads_(plan.reads_per_second, 3),
        connecting_(2 * plan.clients + plan.bulk_writers + 1) {
    std::mt19937_64 random(1);
    for (char& c : value_) c = static_cast<char>('a' + random() % 26);
    phases_[0].name = "calm";
    phases_[0].seconds = plan.calm_seconds;
    phases_[1].name = "burst";
    phases_[1].seconds = plan.burst_seconds;
  }

  Status Go() {
    std::vector<std::thread> threads;
    for (int i = 0; i < plan_.clients; ++i) {
      threads.emplace_back([this, i] { WorkInteractively(static_cast<uint64_t>(i), true); });
      threads.emplace_back([this, i] { WorkInteractively(static_cast<uint64_t>(i), false); });
    }
    std::vector<std::thread> bulk_writers;
    for (int i = 0; i < plan_.bulk_writers; ++i)
      bulk_writers.emplace_back([this, i] { WriteBulk(static_cast<uint64_t>(i)); });
    connecting_.arrive_and_wait();
    const TimePoint now = Clock::System().Now();
    begin_ = now + FromSeconds(plan_.warm_up_seconds);
    burst_ = begin_ + FromSeconds(plan_.calm_seconds);
    end_ = burst_ + FromSeconds(plan_.burst_seconds);
    writes_.Begin(now);
    reads_.Begin(now);
    connecting_.arrive_and_wait();
    Watch();
    // Wait for all operations that were to start in time; the end of the run refuses none.
    for (std::thread& thread : threads) thread.join();
    if (limiter_ != nullptr) limiter_->Stop();
    for (std::thread& thread : bulk_writers) thread.join();
    const std::lock_guard lock(mutex_);
    return error_;
  }
  const WirePhase& phase(size_t i) const { return phases_[i]; }
  const std::vector<TimelineRow>& timeline() const { return timeline_; }

 private:
  static constexpr Duration kShortNap = std::chrono::milliseconds(20);
  static constexpr Duration kTimelineStep = std::chrono::milliseconds(500);
  static constexpr Duration kLongestBacklog = std::chrono::seconds(60);

  void Watch() {
    TimePoint next = begin_ + kTimelineStep;
    uint64_t bulk_bytes = 0;
    uint64_t escapes = 0;
    double cpu_seconds = 0;
    while (Clock::System().Now() < end_ && !failed_) {
      std::this_thread::sleep_for(kShortNap);
      const TimePoint now = Clock::System().Now();
      const uint64_t escapes_before = std::exchange(escapes, monitor_.Sample().escapes);
      const double cpu_before = std::exchange(cpu_seconds, engine_.CpuSeconds());
      if (now < begin_) continue;
      WirePhase& phase = PhaseAt(now);
      phase.escapes += escapes - escapes_before;
      phase.cpu_seconds += cpu_seconds - cpu_before;
      const double level = monitor_.LoadLevel();
      phase.highest_level = std::max(phase.highest_level, level);
      phase.level_sum += level;
      ++phase.levels;
      if (now < next) continue;
      next += kTimelineStep;
      Note(now, phase, level, &bulk_bytes);
    }
  }

  void Note(TimePoint now, const WirePhase& phase, double level, uint64_t* bulk_bytes_before) {
    const uint64_t bulk_bytes = phases_[0].bulk_bytes + phases_[1].bulk_bytes;
    TimelineRow row{.second = ToSeconds(now - begin_), .phase = phase.name, .level = level};
    row.bulk_mb_per_second = static_cast<double>(bulk_bytes - std::exchange(*bulk_bytes_before, bulk_bytes)) / 1e6 /
                             ToSeconds(kTimelineStep);
    row.write_max_ms = Milliseconds(Duration(slowest_write_.exchange(0)));
    row.read_max_ms = Milliseconds(Duration(slowest_read_.exchange(0)));
    row.limit_mb_per_second = std::numeric_limits<double>::infinity();
    if (limiter_ != nullptr) {
      const LimiterView view = limiter_->View();
      const LimiterView::Write& bulk = view[WorkClass::kBulk];
      if (!bulk.open) row.limit_mb_per_second = bulk.bytes_per_second / 1e6;
      row.drain_mb_per_second = bulk.drain_bytes_per_second / 1e6;
      row.reason = bulk.reason;
      row.signal = bulk.reason;
    }
    timeline_.push_back(std::move(row));
  }

  WirePhase& PhaseAt(TimePoint time) { return phases_[time < burst_ ? 0 : 1]; }

  // Waits for the limiter's decision. Returns false if it refuses the operation.
  bool Enter(Operation operation, uint64_t bytes, const Party& party, Admission* admission) {
    if (limiter_ == nullptr || (!plan_.clients_ask && party.work_class == WorkClass::kInteractive)) return true;
    *admission = limiter_->Admit(operation, {bytes}, party);
    return admission->Wait() == Admission::State::kAdmitted;
  }

  // Waits until all clients are connected and the times of the run are set. No schedule may begin before.
  std::unique_ptr<WireClient> ConnectWithAll() {
    std::unique_ptr<WireClient> connection = engine_.Connect();
    if (const Status ready = connection->Read(0); !ready.ok()) Fail(ready);
    connecting_.arrive_and_wait();
    connecting_.arrive_and_wait();  // meanwhile the run's times were set
    return connection;
  }

  void WorkInteractively(uint64_t client, bool writes) {
    const std::unique_ptr<WireClient> connection = ConnectWithAll();
    std::mt19937_64 random(1000 + 2 * client + (writes ? 1 : 0));
    while (!failed_) {
      const TimePoint intended = (writes ? writes_ : reads_).Next();
      if (intended >= end_) return;
      std::this_thread::sleep_until(intended);
      if (Clock::System().Now() > end_ + kLongestBacklog)
        return Fail(Status::Error("clients wait for too long to count"));
      const uint64_t key = random() % plan_.keys;
      WirePhase& phase = PhaseAt(intended);
      Admission admission;
      if (!Enter(writes ? Operation::kWrite : Operation::kRead, plan_.value_bytes, {.id = 1000 + client}, &admission)) {
        if (intended >= begin_) ++phase.refused;
        continue;
      }
      const Status done = writes ? connection->Write({&key, 1}, value_) : connection->Read(key);
      if (!done.ok()) return Fail(done);
      if (intended < begin_) continue;
      const Duration took = Clock::System().Now() - intended;
      (writes ? phase.writes : phase.reads).Record(took);
      std::atomic<int64_t>& slowest = writes ? slowest_write_ : slowest_read_;
      for (int64_t was = slowest; was < took.count() && !slowest.compare_exchange_weak(was, took.count());) {
      }
    }
  }

  void WriteBulk(uint64_t writer) {
    const std::unique_ptr<WireClient> connection = ConnectWithAll();
    std::this_thread::sleep_until(burst_);
    std::mt19937_64 random(kFirstParty + writer);
    while (!failed_ && Clock::System().Now() < end_) {
      // The keys are sorted, because two writers that lock the same keys in different orders would wait for each other.
      std::set<uint64_t> sorted;
      while (sorted.size() < static_cast<size_t>(plan_.bulk_batch)) sorted.insert(random() % plan_.keys);
      const std::vector<uint64_t> keys(sorted.begin(), sorted.end());
      const uint64_t bytes = keys.size() * plan_.value_bytes;
      Admission admission;
      if (!Enter(Operation::kWrite, bytes, {.id = kFirstParty + writer, .work_class = WorkClass::kBulk}, &admission)) {
        std::this_thread::sleep_for(kShortNap);
        continue;
      }
      if (const Status done = connection->Write(keys, value_); !done.ok()) return Fail(done);
      phases_[1].bulk_bytes += bytes;
    }
  }

  void Fail(const Status& status) {
    failed_ = true;
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
  std::barrier<> connecting_;
  TimePoint begin_{}, burst_{}, end_{};
  std::atomic<bool> failed_ = false;
  std::array<WirePhase, 2> phases_;
  std::atomic<int64_t> slowest_write_ = 0;  // ns, since the last note
  std::atomic<int64_t> slowest_read_ = 0;
  std::vector<TimelineRow> timeline_;
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
  if (phase.writes.count() >= kEnoughForP999) row.write_p999_ms = Milliseconds(phase.writes.Quantile(0.999));
  row.write_max_ms = Milliseconds(phase.writes.max());
  row.read_p50_ms = Milliseconds(phase.reads.Quantile(0.5));
  row.read_p99_ms = Milliseconds(phase.reads.Quantile(0.99));
  if (phase.reads.count() >= kEnoughForP999) row.read_p999_ms = Milliseconds(phase.reads.Quantile(0.999));
  row.refused = static_cast<double>(phase.refused);
  row.bulk_mb_per_second = static_cast<double>(phase.bulk_bytes) / 1e6 / phase.seconds;
  row.escapes = static_cast<double>(phase.escapes);
  row.cpu_seconds = phase.cpu_seconds;
  row.highest_level = phase.highest_level;
  row.mean_level = phase.level_sum / static_cast<double>(std::max<uint64_t>(1, phase.levels));
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
  if (Status prepared = engine.Prepare(plan.keys, plan.value_bytes); !prepared.ok()) return prepared;
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
  if (Status s = WriteTimeline(results / "timeline" / (RunName(key) + ".csv"), run.timeline()); !s.ok()) return s;
  if (Status s = WriteCcdf(results / "ccdf" / (RunName(key) + ".csv"), CcdfOf(run.phase(1).writes)); !s.ok()) return s;
  return AppendRows(results / "results.csv", {RowOf(key, run.phase(0)), RowOf(key, run.phase(1))});
}

double MedianOf(const std::vector<PhaseRow>& rows, const std::string& policy, const std::string& phase,
                double PhaseRow::*number) {
  std::vector<double> values;
  for (const PhaseRow& row : rows)
    if (row.run.policy == policy && row.phase == phase && std::isfinite(row.*number)) values.push_back(row.*number);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

void Print(const std::vector<PhaseRow>& rows) {
  std::printf(
      "| phase, policy | writes p50 | p99 | p99.9 | max ms | reads p50 | p99 ms | bulk MB/s | refused | level, mean | "
      "escapes | server CPU s |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const char* const phase : {"calm", "burst"})
    for (const char* const policy : {"alone", "weir"}) {
      const auto m = [&](double PhaseRow::*number) { return MedianOf(rows, policy, phase, number); };
      std::printf("| %s, %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.0f | %.2f | %.0f | %.1f |\n", phase,
                  policy, m(&PhaseRow::write_p50_ms), m(&PhaseRow::write_p99_ms), m(&PhaseRow::write_p999_ms),
                  m(&PhaseRow::write_max_ms), m(&PhaseRow::read_p50_ms), m(&PhaseRow::read_p99_ms),
                  m(&PhaseRow::bulk_mb_per_second), m(&PhaseRow::refused), m(&PhaseRow::mean_level),
                  m(&PhaseRow::escapes), m(&PhaseRow::cpu_seconds));
    }
}

// Notes the engine and the machine in the directory. Returns an error if it has results of another engine.
Status Claim(const WireStormPlan& plan) {
  const fs::path results = plan.results;
  for (const char* const inner : {"ccdf", "timeline"}) {
    std::error_code ignored;  // writing the file reports the error better
    fs::create_directories(results / inner, ignored);
  }
  const std::string engine = "engine: " + plan.engine + "\n";
  std::stringstream there;
  there << std::ifstream(results / "machine.txt").rdbuf();
  if (fs::exists(results / "results.csv") && there.str().find(engine) == std::string::npos)
    return Status::Error(plan.results + " has results of another engine; name another directory with --results");
  std::ofstream out(results / "machine.txt");
  out << DescribeMachine() << engine;
  return out.flush().good() ? Status() : Status::Error("cannot write " + (results / "machine.txt").string());
}

}  // namespace

WireStormPlan PostgresPlan() { return {.engine = "postgres"}; }

WireStormPlan MyRocksPlan() { return {.engine = "myrocks", .burst_seconds = 40, .clients_ask = false, .keys = 50'000}; }

WireStormPlan Neo4jPlan() {
  return {.engine = "neo4j",
          .burst_seconds = 40,
          .writes_per_second = 20,
          .reads_per_second = 20,
          .bulk_writers = 64,
          .keys = 20'000};
}

Status RunWireStorm(WireEngine& engine, const WireStormPlan& plan) {
  if (Status claimed = Claim(plan); !claimed.ok()) return claimed;
  const fs::path file = fs::path(plan.results) / "results.csv";
  const auto before = fs::exists(file) ? ReadRows(file) : Result<std::vector<PhaseRow>>(std::vector<PhaseRow>{});
  if (!before.ok()) return before.status();
  for (int repetition = 1; repetition <= plan.repetitions; ++repetition)
    for (const bool first : {true, false}) {
      const bool alone = first == (repetition % 2 == 1);
      const RunKey key{.scenario = "burst", .policy = alone ? "alone" : "weir", .repetition = repetition};
      const auto is_this = [&](const PhaseRow& row) { return RunName(row.run) == RunName(key); };
      if (std::ranges::any_of(before.value(), is_this)) continue;
      std::fprintf(stderr, "%s\n", RunName(key).c_str());
      if (Status ran = RunOnce(engine, plan, key); !ran.ok()) return ran;
    }
  return ReportWireStorm(plan.results);
}

Status ReportWireStorm(const std::string& results) {
  const Result<std::vector<PhaseRow>> rows = ReadRows(fs::path(results) / "results.csv");
  if (!rows.ok()) return rows.status();
  Print(rows.value());
  return {};
}

}  // namespace weir
