#include "bench/demo/demo_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/storm/engine.h"
#include "bench/storm/load.h"
#include "bench/storm/policy.h"
#include "config/settings.h"
#include "throttle/limiter_settings.h"

namespace weir {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(20);

// Ctrl-C ends the run in order, so that its database does not stay behind.
volatile std::sig_atomic_t interrupted = 0;

struct HalfResult {
  Duration p50, p99, p999, longest;
  double bulk_mb_per_second = 0;
  double braking_seconds = 0;
  uint64_t refused = 0;
  std::vector<double> levels;  // the highest signal, ten a second
};

// ████████░░│░░  from 0 to 1.5, with a mark at the setpoint.
std::string Bar(double level, double setpoint) {
  constexpr int kCells = 30;
  constexpr double kFullScale = 1.5;
  const auto cell_of = [](double x) { return static_cast<int>(std::lround(x / kFullScale * kCells)); };
  std::string bar;
  for (int cell = 0; cell < kCells; ++cell) bar += cell == cell_of(setpoint) ? "│" : cell < cell_of(level) ? "█" : "·";
  return bar;
}

const Signal* Highest(const LoadSample& sample) {
  const Signal* highest = nullptr;
  for (const Signal& s : sample.signals())
    if (s.acts_on_writes && (highest == nullptr || s.level > highest->level)) highest = &s;
  return highest;
}

void PrintHeader(bool throttled) {
  std::printf("\n%s\n", throttled ? "With weir" : "RocksDB alone");
  std::printf("%5s  %-30s %5s %-10s %10s %9s %8s %9s %9s\n", "s", "level (│ setpoint)", "", "highest", "limit MB/s",
              "bulk MB/s", "delay ms", "write p50", "p99 ms");
}

// The storm experiment at a quarter of its sizes, on few keys, so that it settles in a quarter of the time.
StormGeometry DemoGeometry() {
  StormGeometry geometry = ScaledStorm(0.25);
  geometry.keys = geometry.preloaded_values = 75'000;
  geometry.disk_bytes_per_second = StormGeometry{}.disk_bytes_per_second;
  geometry.memory_target_bytes = StormGeometry{}.memory_target_bytes;
  return geometry;
}

class Half {
 public:
  Half(StormEngine& engine, Policy& policy, bool throttled, double setpoint)
      : engine_(engine),
        policy_(policy),
        throttled_(throttled),
        setpoint_(setpoint),
        load_(engine, policy, {.reads_per_second = 0}, 1) {}

  Result<HalfResult> Run(Duration length) {
    PrintHeader(throttled_);
    engine_.monitor().Start();
    policy_.Start(engine_);
    load_.Start();
    load_.BeginPhase(0, BulkLoad::Kind::kClosedLoop, 0);
    Watch(length);
    policy_.Stop();
    const Status status = load_.Stop();
    engine_.monitor().Stop();
    if (!status.ok()) return status;

    const LoadFigures& figures = load_.figures(0);
    result_.p50 = figures.writes.Quantile(0.50);
    result_.p99 = figures.writes.Quantile(0.99);
    result_.p999 = figures.writes.Quantile(0.999);
    result_.longest = figures.writes.max();
    result_.refused = figures.refused;
    result_.bulk_mb_per_second = static_cast<double>(figures.bulk_bytes) / 1e6 / ToSeconds(length);
    return result_;
  }

 private:
  void Watch(Duration length) {
    const Clock& clock = Clock::System();
    const TimePoint start = clock.Now();
    // A row a second, but not more than fit on a screen.
    const Duration row = std::max<Duration>(std::chrono::seconds(1), length / 30);
    TimePoint next_row = start + row;
    TimePoint next_level = start;
    TimePoint last_look = start;
    uint64_t bulk_before = 0;
    bool braked = false;
    while (interrupted == 0 && clock.Now() < start + length) {
      std::this_thread::sleep_for(kLookEvery);
      const TimePoint now = clock.Now();
      if (engine_.Braking()) {
        result_.braking_seconds += ToSeconds(now - last_look);
        braked = true;
      }
      last_look = now;
      if (now >= next_level) {
        next_level += std::chrono::milliseconds(100);
        const LoadSample sample = engine_.monitor().Sample();
        if (const Signal* highest = Highest(sample)) result_.levels.push_back(highest->level);
      }
      if (now < next_row) continue;
      const uint64_t bulk = load_.figures(0).bulk_bytes;
      PrintRow(now - start, static_cast<double>(bulk - bulk_before) / 1e6 / ToSeconds(row), braked);
      bulk_before = bulk;
      next_row += row;
      braked = false;
    }
  }

  void PrintRow(Duration since_start, double bulk_mb_per_second, bool braked) {
    const LoadSample sample = engine_.monitor().Sample();
    const Signal* highest = Highest(sample);
    const double level = highest != nullptr ? highest->level : 0;
    const std::string_view name = highest != nullptr ? highest->name : "";
    const double limit = policy_.View().bulk_bytes_per_second;
    RecentLoad recent;
    load_.TakeRecent(recent);
    const bool colour = isatty(STDOUT_FILENO) != 0;
    std::printf("%5.0f  %s %5.2f %-10.*s ", ToSeconds(since_start), Bar(level, setpoint_).c_str(), level,
                static_cast<int>(name.size()), name.data());
    if (std::isfinite(limit)) {
      std::printf("%10.1f", limit / 1e6);
    } else {
      std::printf("%10s", throttled_ ? "open" : "-");
    }
    std::printf(" %9.1f %8.0f %9.1f %9.1f%s\n", bulk_mb_per_second, Milliseconds(recent.bulk_wait_max),
                Milliseconds(recent.writes.Quantile(0.5)), Milliseconds(recent.writes.Quantile(0.99)),
                !braked  ? ""
                : colour ? "  \033[31mRocksDB brakes\033[0m"
                         : "  RocksDB brakes");
    std::fflush(stdout);
  }

  StormEngine& engine_;
  Policy& policy_;
  const bool throttled_;
  const double setpoint_;
  StormLoad load_;
  HalfResult result_;
};

Result<HalfResult> RunHalf(const std::filesystem::path& scratch, bool throttled, Duration length,
                           const LimiterSettings& settings) {
  const StormGeometry geometry = DemoGeometry();
  const std::filesystem::path preloaded = scratch / "template";
  if (!std::filesystem::exists(preloaded))
    if (Status s = MakeTemplate(geometry, preloaded); !s.ok()) return s;
  auto policy = MakePolicy(throttled ? "weir" : "alone", geometry, settings);
  if (!policy.ok()) return policy.status();
  StormEngine::Options options = StormEngine::DefaultOptions(geometry);
  policy.value()->Adapt(options);
  auto engine = StormEngine::Open(geometry, std::move(options), preloaded, scratch);
  if (!engine.ok()) return engine.status();
  return Half(*engine.value(), *policy.value(), throttled, settings.bulk.setpoint).Run(length);
}

void PrintSummary(const HalfResult& alone, const HalfResult& weir, double setpoint) {
  const auto row = [&](const char* what, double a, double b, int digits) {
    std::printf("  %-34s", what);
    for (const auto& [half, value] : {std::pair(&alone, a), std::pair(&weir, b)}) {
      if (half->levels.empty()) {
        std::printf(" %14s", "-");  // was not run
      } else {
        std::printf(" %14.*f", digits, value);
      }
    }
    std::printf("\n");
  };
  std::printf("\n  %-34s %14s %14s\n", "", "RocksDB alone", "with weir");
  row("interactive write p50, ms", Milliseconds(alone.p50), Milliseconds(weir.p50), 1);
  row("                  p99, ms", Milliseconds(alone.p99), Milliseconds(weir.p99), 1);
  row("                  p99.9, ms", Milliseconds(alone.p999), Milliseconds(weir.p999), 1);
  row("                  longest, ms", Milliseconds(alone.longest), Milliseconds(weir.longest), 1);
  row("                  refused", static_cast<double>(alone.refused), static_cast<double>(weir.refused), 0);
  row("bulk, MB/s", alone.bulk_mb_per_second, weir.bulk_mb_per_second, 1);
  row("RocksDB slowed or stopped writes, s", alone.braking_seconds, weir.braking_seconds, 1);

  // What it settled to: the last third of the run.
  std::vector<double> settled(weir.levels.begin() + static_cast<std::ptrdiff_t>(weir.levels.size() * 2 / 3),
                              weir.levels.end());
  if (settled.empty()) return;
  std::sort(settled.begin(), settled.end());
  std::printf(
      "\n  Setpoint of bulk work %.2f; highest signal in the last third with weir: median %.2f, "
      "nine tenths of the time within %.2f to %.2f\n",
      setpoint, settled[settled.size() / 2], settled[settled.size() / 20], settled[settled.size() * 19 / 20]);
}

}  // namespace

int DemoCommand(int argc, char** argv) {
  CLI::App app("Overloads a real RocksDB twice, first with its own brakes alone and then with weir, and shows both.",
               "weir demo");
  int seconds = 30;
  std::string half = "both";
  std::string directory = std::filesystem::temp_directory_path().string();
  app.add_option("--seconds", seconds, "length of each half")->capture_default_str()->check(CLI::Range(5, 3600));
  app.add_option("--dir", directory, "where the databases are made (about 1 GB, removed at the end)")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app.add_option("--half", half, "which half to run")
      ->capture_default_str()
      ->check(CLI::IsMember({"both", "alone", "weir"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }

  LimiterSettings settings;
  if (Status s = LoadLimiterSettings(ProcessEnvironment(), &settings); !s.ok()) {
    std::fprintf(stderr, "weir demo: %s\n", s.message().c_str());
    return 2;
  }
  std::printf(
      "4 bulk writers push as hard as they can; somebody waits for 200 small writes a second.\n"
      "RocksDB gets 32 MiB/s of disk for flushes and compactions. %d seconds each:\n",
      seconds);
  const Duration length = std::chrono::seconds(seconds);
  const auto scratch = ScratchDirectory::Make(directory, "weir-demo");
  if (!scratch.ok()) {
    std::fprintf(stderr, "weir demo: %s\n", scratch.status().message().c_str());
    return 1;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  Result<HalfResult> alone = HalfResult{};
  Result<HalfResult> weir = HalfResult{};
  if (half != "weir") alone = RunHalf(scratch.value()->path(), false, length, settings);
  if (half != "alone" && alone.ok() && interrupted == 0)
    weir = RunHalf(scratch.value()->path(), true, length, settings);
  for (const Result<HalfResult>* result : {&alone, &weir}) {
    if (result->ok()) continue;
    std::fprintf(stderr, "weir demo: %s\n", result->status().message().c_str());
    return 1;
  }
  if (interrupted != 0) return 130;
  PrintSummary(alone.value(), weir.value(), settings.bulk.setpoint);
  return 0;
}

}  // namespace weir
