#include "bench/storm/run.h"

#include <rocksdb/db.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/jain_index.h"
#include "bench/measure/own_cpu.h"
#include "bench/measure/settled_limit.h"
#include "bench/measure/started_threads.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLookEvery = std::chrono::milliseconds(20);
constexpr Duration kTimelineEvery = std::chrono::milliseconds(100);
// The longest wait for the engine to settle. If it has not settled by then, the run ends, and its row has the debt.
constexpr double kLongestSettleSeconds = 240;
// The engine has settled if it was at rest for so long; it also rests for a moment between two compactions of a
// backlog.
constexpr Duration kRestToBeSettled = std::chrono::milliseconds(400);

double PeakMemoryMb() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) * 1024 / 1e6;
}

double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : std::numeric_limits<double>::quiet_NaN();
}

// The run's loop: changes phases, watches the engine and notes figures.
class Runner {
 public:
  Runner(const RunSpec& spec, const RunObserver& observer, StormEngine& engine, Policy& policy)
      : spec_(spec),
        observer_(observer),
        engine_(engine),
        policy_(policy),
        phases_(spec.scenario.phases),
        load_(engine, policy, LoadOf(spec), static_cast<int>(phases_.size()) + 1) {
    if (spec.scenario.settles) phases_.push_back({.name = "settle", .seconds = kLongestSettleSeconds});
    rows_.resize(phases_.size());
  }

  // REQUIRES: no other thread starts threads meanwhile.
  void Start() {
    control_.emplace([this] {
      engine_.monitor().Start();
      policy_.Start(engine_);
    });
  }

  // REQUIRES: Start was called.
  Status Go() {
    start_ = last_look_ = last_note_ = next_timeline_ = Clock::System().Now();
    load_.Start();
    for (size_t i = 0; i < phases_.size() && !Ended(); ++i) RunPhase(i);
    policy_.Stop();
    const Status status = load_.Stop();
    if (compaction_.joinable()) engine_.CancelCompaction();
    compaction_ = {};
    engine_.monitor().Stop();
    return status.ok() ? settling_ : status;
  }

  RunFigures Figures() {
    FillRows();
    return {.rows = std::move(rows_), .timeline = std::move(timeline_), .ccdf = Ccdf()};
  }

 private:
  static LoadOptions LoadOf(const RunSpec& spec) {
    LoadOptions load = spec.load;
    load.writers_of_party = spec.scenario.writers_of_party;
    load.scanners = spec.scenario.scanners;
    load.reads_per_second *= spec.shape.read_factor;
    return load;
  }

  bool Ended() const { return stopped_ || load_.failed(); }
  bool Settles(size_t phase) const { return spec_.scenario.settles && phase + 1 == phases_.size(); }

  void RunPhase(size_t i) {
    const StormPhase& phase = phases_[i];
    engine_.SetDisk(phase.disk_share);
    BeginBulk(i, /*rests=*/false);
    const TimePoint begin = Clock::System().Now();
    if (Settles(i)) settling_ = engine_.BeginToSettle();
    const Duration cpu_before = OwnProcessorTime();
    const double control_before = control_->CpuSeconds();
    limits_.clear();
    PhaseRow& row = rows_[i];
    TimePoint last_unrest = begin;
    level_sum_ = level_count_ = 0;
    bool settled = false;
    while (!settled && !Ended() && Clock::System().Now() < begin + FromSeconds(phase.seconds)) {
      std::this_thread::sleep_for(kLookEvery);
      Look(phase, &row);
      Disturb(i, ToSeconds(last_look_ - begin));
      if (!Settles(i)) continue;
      if (!engine_.Settled()) last_unrest = last_look_;
      settled = last_look_ - last_unrest > kRestToBeSettled;
    }
    row.seconds = ToSeconds(last_look_ - begin);
    if (settled) settle_seconds_ = ToSeconds(last_unrest - begin);
    row.mean_level = level_count_ > 0 ? level_sum_ / level_count_ : 0;
    row.debt_mb_at_end =
        static_cast<double>(engine_.Property(rocksdb::DB::Properties::kEstimatePendingCompactionBytes)) / 1e6;
    row.cpu_seconds = ToSeconds(OwnProcessorTime() - cpu_before);
    row.control_cpu_ms_per_second = (control_->CpuSeconds() - control_before) * 1e3 / std::max(1e-3, row.seconds);
    const SettledLimit limit = JudgeLimit(limits_);
    row.limit_spread_percent = limit.spread_percent;
    row.limit_within_percent = limit.within_percent;
    row.limit_settled_seconds = limit.seconds;
    row.peak_memory_mb = PeakMemoryMb();
    row.load_average = LoadAverage();
  }

  void BeginBulk(size_t i, bool rests) {
    using Kind = BulkLoad::Kind;
    const BulkLoad& bulk = phases_[i].bulk;
    const double offered = spec_.shape.offered_mb_per_second;
    const bool is_offered = bulk.kind == Kind::kClosedLoop && offered > 0;
    const double mb_per_second = is_offered ? offered : bulk.of_sustainable * spec_.sustainable_mb_per_second;
    load_.BeginPhase(static_cast<int>(i),
                     rests        ? Kind::kNone
                     : is_offered ? Kind::kOpenLoop
                                  : bulk.kind,
                     mb_per_second * 1e6 * spec_.shape.scale);
    resting_ = rests;
  }

  // Does what the shape does while bulk work goes on. `second` counts from the begin of the phase.
  void Disturb(size_t i, double second) {
    const StormShape& shape = spec_.shape;
    const StormPhase& phase = phases_[i];
    if (phase.bulk.kind == BulkLoad::Kind::kNone) return;
    if (shape.later_disk_share != 1 && second >= phase.seconds / 2)
      engine_.SetDisk(phase.disk_share * shape.later_disk_share);
    if (shape.bulk_rest_seconds > 0) {
      const bool rests = std::fmod(second, 2 * shape.bulk_rest_seconds) >= shape.bulk_rest_seconds;
      if (rests != resting_) BeginBulk(i, rests);
    }
    if (shape.compacts_all && second >= phase.seconds / 5 && !compaction_.joinable())
      compaction_ = std::jthread([this] { engine_.CompactAll(); });
  }

  void Look(const StormPhase& phase, PhaseRow* row) {
    const TimePoint now = Clock::System().Now();
    const bool braking = engine_.Braking();
    if (braking) row->braked_seconds += ToSeconds(now - last_look_);
    if (braking && !was_braking_) ++row->escapes;
    braked_since_note_ = braked_since_note_ || braking;
    was_braking_ = braking;
    last_look_ = now;
    if (now >= next_timeline_) Note(phase, now, row);
  }

  void Note(const StormPhase& phase, TimePoint now, PhaseRow* row) {
    const LoadSample sample = engine_.monitor().Sample();
    const RocksDbDetails details = engine_.monitor().Details();
    const PolicyView view = policy_.View();
    RecentLoad recent;
    load_.TakeRecent(recent);
    TimelineRow line{.second = ToSeconds(now - start_), .phase = phase.name};
    for (const Signal& s : sample.signals()) {
      if (s.acts_on_writes && s.level >= line.level) {
        line.level = s.level;
        line.signal = s.name;
      }
    }
    line.l0_level = sample.LevelOf("l0");
    line.memtables_level = sample.LevelOf("memtables");
    line.debt_level = sample.LevelOf("debt");
    line.memory_level = sample.LevelOf("memory");
    line.limit_mb_per_second = view.bulk_bytes_per_second / 1e6;
    limits_.push_back({line.second, line.limit_mb_per_second});
    line.reason = view.reason;
    line.drain_mb_per_second = details.drain_bytes_per_second / 1e6;
    const uint64_t bulk = BulkBytes();
    line.bulk_mb_per_second =
        static_cast<double>(bulk - bulk_before_) / 1e6 / std::max(1e-3, ToSeconds(now - last_note_));
    line.write_max_ms = Milliseconds(recent.write_max);
    line.read_max_ms = Milliseconds(recent.read_max);
    line.l0_files = static_cast<double>(details.l0_files);
    line.debt_mb = static_cast<double>(details.debt_bytes) / 1e6;
    line.braking = braked_since_note_ ? 1 : 0;
    // In a database that weir prepared, a listener counts also the brakes between two looks at the engine.
    if (seen_escapes_ < sample.escapes) row->escapes = std::max(row->escapes, 1.0);
    seen_escapes_ = sample.escapes;
    row->highest_level = std::max(row->highest_level, line.level);
    row->highest_l0_files = std::max(row->highest_l0_files, line.l0_files);
    level_sum_ += line.level;
    ++level_count_;
    if (observer_ && !observer_(line, recent)) stopped_ = true;
    timeline_.push_back(std::move(line));
    bulk_before_ = bulk;
    last_note_ = now;
    braked_since_note_ = false;
    next_timeline_ += kTimelineEvery;
  }

  uint64_t BulkBytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < phases_.size(); ++i) bytes += load_.figures(static_cast<int>(i)).bulk_bytes;
    return bytes;
  }

  void FillRows() {
    double bulk_seconds = 0;
    for (size_t i = 0; i < phases_.size(); ++i)
      if (phases_[i].bulk.kind != BulkLoad::Kind::kNone) bulk_seconds += rows_[i].seconds;
    for (size_t i = 0; i < phases_.size(); ++i) {
      const FeltFigures& f = load_.figures(static_cast<int>(i));
      PhaseRow& row = rows_[i];
      row.run = spec_.key;
      row.phase = phases_[i].name;
      row.writes = static_cast<double>(f.writes.count());
      row.write_p50_ms = Milliseconds(f.writes.Quantile(0.5));
      row.write_p99_ms = Milliseconds(f.writes.Quantile(0.99));
      row.write_p999_ms = Milliseconds(f.writes.Quantile(0.999));
      row.write_max_ms = Milliseconds(f.writes.max());
      row.write_longest_gap_ms = Milliseconds(Duration(f.longest_gap_ns.load()));
      row.refused = static_cast<double>(f.refused.load());
      row.bulk_refused = static_cast<double>(f.bulk_refused.load());
      row.noise_p999_ms = Milliseconds(f.lateness.Quantile(0.999));
      row.read_p50_ms = Milliseconds(f.reads.Quantile(0.5));
      row.read_p99_ms = Milliseconds(f.reads.Quantile(0.99));
      row.read_p999_ms = Milliseconds(f.reads.Quantile(0.999));
      row.scan_p50_ms = Milliseconds(f.scans.Quantile(0.5));
      row.scan_p99_ms = Milliseconds(f.scans.Quantile(0.99));
      const double seconds = std::max(1e-3, row.seconds);
      row.long_scans_per_second = static_cast<double>(f.long_scans.load()) / seconds;
      row.bulk_mb_per_second = static_cast<double>(f.bulk_bytes.load()) / 1e6 / seconds;
      row.settle_seconds = settle_seconds_;
      row.adjusted_bulk_mb_per_second = static_cast<double>(BulkBytes()) / 1e6 / (bulk_seconds + settle_seconds_);
      row.jain_index = JainIndex({f.party_bytes.begin(), f.party_bytes.end()});
      const double values = static_cast<double>(f.bulk_bytes.load()) / static_cast<double>(spec_.shape.value_bytes) +
                            static_cast<double>(f.writes.count() + f.reads.count() + f.scans.count());
      row.cpu_us_per_value = row.cpu_seconds * 1e6 / std::max(1.0, values);
    }
  }

  std::vector<CcdfPoint> Ccdf() const {
    std::vector<CcdfPoint> points;
    for (size_t i = 0; i < phases_.size(); ++i) {
      if (phases_[i].name != spec_.scenario.judged_phase) continue;
      const LatencyHistogram& writes = load_.figures(static_cast<int>(i)).writes;
      const auto count = static_cast<double>(writes.count());
      for (double share = 1; share * count >= 1; share *= 0.9)
        points.push_back({Milliseconds(writes.Quantile(1 - share)), share});
    }
    return points;
  }

  const RunSpec& spec_;
  const RunObserver& observer_;
  StormEngine& engine_;
  Policy& policy_;
  std::vector<StormPhase> phases_;
  StormLoad load_;

  std::vector<PhaseRow> rows_;
  std::vector<TimelineRow> timeline_;
  Status settling_;
  bool stopped_ = false;
  double settle_seconds_ = std::numeric_limits<double>::quiet_NaN();  // NaN: it did not settle
  uint64_t seen_escapes_ = 0;
  TimePoint start_{}, last_look_{}, last_note_{}, next_timeline_{};
  uint64_t bulk_before_ = 0;
  double level_sum_ = 0, level_count_ = 0;
  std::optional<StartedThreads> control_;
  std::vector<LimitAt> limits_;  // the phase's limits of bulk work
  std::jthread compaction_;
  bool resting_ = false;
  bool was_braking_ = false;
  bool braked_since_note_ = false;
};

}  // namespace

namespace {

// One of the databases of a run, with its policy.
struct Side {
  std::unique_ptr<Policy> policy;
  std::unique_ptr<StormEngine> engine;
  std::unique_ptr<Runner> runner;
  Status status;
};

}  // namespace

Result<RunFigures> Run(const RunSpec& spec, const RunObserver& observer) {
  std::optional<StormEngine::Options> options;
  std::vector<Side> sides(static_cast<size_t>(spec.shape.databases));
  const RunObserver none;
  for (Side& side : sides) {
    Result<std::unique_ptr<Policy>> policy = MakePolicy(spec.key.policy, spec.shape, spec.limiter);
    if (!policy.ok()) return policy.status();
    side.policy = std::move(policy).value();
    if (!options) side.policy->Adapt(options.emplace(StormEngine::DefaultOptions(spec.shape)));
    auto engine = StormEngine::Open(spec.shape, *options, spec.template_path, spec.scratch);
    if (!engine.ok()) return engine.status();
    side.engine = std::move(engine).value();
    const bool is_first = &side == &sides.front();
    side.runner = std::make_unique<Runner>(spec, is_first ? observer : none, *side.engine, *side.policy);
  }
  for (Side& side : sides) side.runner->Start();
  std::vector<std::jthread> others;
  for (size_t i = 1; i < sides.size(); ++i)
    others.emplace_back([&side = sides[i]] { side.status = side.runner->Go(); });
  sides.front().status = sides.front().runner->Go();
  others.clear();
  RunFigures figures;
  for (Side& side : sides) {
    if (!side.status.ok()) return side.status;
    RunFigures own = side.runner->Figures();
    if (&side == &sides.front()) {
      figures = std::move(own);
      continue;
    }
    for (size_t i = 0; i < own.rows.size(); ++i) figures.rows[i] = Together(figures.rows[i], own.rows[i]);
  }
  return figures;
}

// Writes the rows last, because a row in results.csv means that the run is complete.
Status RunHere(const RunSpec& spec) {
  const Result<RunFigures> run = Run(spec);
  if (!run.ok()) return run.status();
  const std::string name = RunName(spec.key) + ".csv";
  if (Status s = WriteTimeline(spec.results / "timeline" / name, run.value().timeline); !s.ok()) return s;
  if (Status s = WriteCcdf(spec.results / "ccdf" / name, run.value().ccdf); !s.ok()) return s;
  return AppendRows(spec.results / "results.csv", run.value().rows);
}

namespace {

// The run that is under way, for the handler of signals.
volatile std::sig_atomic_t running_child = 0;
volatile std::sig_atomic_t interrupted = 0;

constexpr int kStoppingSignals[] = {SIGINT, SIGTERM, SIGHUP};

void StopTheRun(int) {
  interrupted = 1;
  if (running_child != 0) kill(static_cast<pid_t>(running_child), SIGKILL);
}

// Runs the work in a child process and returns the child's wait status. A signal that would stop this program kills the
// child.
Result<int> InAChild(const std::function<Status()>& work) {
  std::fflush(nullptr);
  for (const int signal : kStoppingSignals) std::signal(signal, StopTheRun);
  if (std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()) != 1)
    return Status::Error("a run apart must begin in a process without other threads");
  const pid_t child = fork();
  if (child < 0) return Status::Error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    for (const int signal : kStoppingSignals) std::signal(signal, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Status status = work();
    if (!status.ok()) std::fprintf(stderr, "weir-bench storm: %s\n", status.message().c_str());
    std::fflush(nullptr);
    _exit(status.ok() ? 0 : 1);
  }
  running_child = child;
  if (interrupted != 0) kill(child, SIGKILL);  // the signal came before running_child was set
  int how = 0;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  running_child = 0;
  if (StormInterrupted()) return Status::Error("interrupted");
  return how;
}

}  // namespace

Status RunApart(const RunSpec& spec) {
  const Result<int> how = InAChild([&spec] { return RunHere(spec); });
  if (!how.ok()) return how.status();
  if (how.value() == 0) return Status();
  if (WIFSIGNALED(how.value()) && WTERMSIG(how.value()) == SIGABRT) {
    PhaseRow row{.run = spec.key, .phase = spec.scenario.judged_phase, .outcome = "aborted"};
    return AppendRows(spec.results / "results.csv", {row});
  }
  return Status::Error("the run " + RunName(spec.key) + " ended before its time");
}

bool StormInterrupted() { return interrupted != 0; }

Status MakeTemplateApart(const StormShape& shape, const std::filesystem::path& path) {
  const Result<int> how = InAChild([&] { return MakeTemplate(shape, path); });
  if (!how.ok()) return how.status();
  return how.value() == 0 ? Status() : Status::Error("cannot make the database " + path.string());
}

}  // namespace weir
