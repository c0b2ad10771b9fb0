#include "bench/demo/demo_command.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/storm/run.h"
#include "config/command_line.h"
#include "config/settings.h"
#include "throttle/limiter_settings.h"

namespace weir {
namespace {

// Ctrl-C ends the run in order, so that its database does not stay behind.
volatile std::sig_atomic_t interrupted = 0;

struct Half {
  PhaseRow row;
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

// The storm experiment at a quarter of its sizes, on few keys, so that it settles in a quarter of the time.
StormShape DemoShape() {
  const StormShape recipe;
  StormShape shape = Scaled(recipe, 0.25);
  shape.keys = shape.preloaded_values = 75'000;
  shape.disk_mib_per_second = recipe.disk_mib_per_second;
  shape.memory_target_mib = recipe.memory_target_mib;
  return shape;
}

// Prints what a run is doing: a row a second, but no more rows than fit on a screen.
class Screen {
 public:
  Screen(bool throttled, double setpoint, double seconds)
      : throttled_(throttled), setpoint_(setpoint), seconds_of_row_(std::max(1.0, seconds / 30)) {
    std::printf("\n%s\n", throttled ? "With weir" : "RocksDB alone");
    std::printf("%5s  %-30s %5s %-10s %10s %9s %8s %9s %9s\n", "s", "level (│ setpoint)", "", "highest", "limit MB/s",
                "bulk MB/s", "delay ms", "write p50", "p99 ms");
  }

  void Show(const TimelineRow& now, const RecentLoad& recent) {
    writes_.Merge(recent.writes);
    bulk_wait_ = std::max(bulk_wait_, recent.bulk_wait_max);
    bulk_mb_ += now.bulk_mb_per_second * (now.second - last_second_);
    last_second_ = now.second;
    braked_ = braked_ || now.braking > 0;
    if (now.second < begin_ + seconds_of_row_) return;
    Print(now);
    begin_ = now.second;
    writes_.Clear();
    bulk_wait_ = {};
    bulk_mb_ = 0;
    braked_ = false;
  }

 private:
  void Print(const TimelineRow& now) const {
    std::printf("%5.0f  %s %5.2f %-10s ", now.second, Bar(now.level, setpoint_).c_str(), now.level, now.signal.c_str());
    if (std::isfinite(now.limit_mb_per_second)) {
      std::printf("%10.1f", now.limit_mb_per_second);
    } else {
      std::printf("%10s", throttled_ ? "open" : "-");
    }
    const bool colour = isatty(STDOUT_FILENO) != 0;
    std::printf(" %9.1f %8.0f %9.1f %9.1f%s\n", bulk_mb_ / (now.second - begin_), Milliseconds(bulk_wait_),
                Milliseconds(writes_.Quantile(0.5)), Milliseconds(writes_.Quantile(0.99)),
                !braked_ ? ""
                : colour ? "  \033[31mRocksDB brakes\033[0m"
                         : "  RocksDB brakes");
    std::fflush(stdout);
  }

  const bool throttled_;
  const double setpoint_;
  const double seconds_of_row_;
  double begin_ = 0;  // begin of the row, in seconds of the run
  double last_second_ = 0;
  LatencyHistogram writes_;
  Duration bulk_wait_{};
  double bulk_mb_ = 0;
  bool braked_ = false;
};

Result<Half> RunHalf(const std::filesystem::path& scratch, bool throttled, int seconds,
                     const LimiterSettings& settings) {
  RunSpec spec{.key = {.scale = 0.25, .scenario = "demo", .policy = throttled ? "weir" : "alone"},
               .scenario = {.name = "demo",
                            .phases = {{"bulk", static_cast<double>(seconds), {BulkLoad::Kind::kClosedLoop}}},
                            .judged_phase = "bulk",
                            .settles = false},
               .shape = DemoShape(),
               .load = {.reads_per_second = 0},
               .limiter = settings,
               .template_path = scratch / "template",
               .scratch = scratch};
  if (!std::filesystem::exists(spec.template_path))
    if (Status s = MakeTemplate(spec.shape, spec.template_path); !s.ok()) return s;
  Screen screen(throttled, settings.bulk.setpoint, seconds);
  const Result<RunFigures> run = Run(spec, [&screen](const TimelineRow& now, const RecentLoad& recent) {
    screen.Show(now, recent);
    return interrupted == 0;
  });
  if (!run.ok()) return run.status();
  Half half{.row = run.value().rows.front()};
  for (const TimelineRow& row : run.value().timeline) half.levels.push_back(row.level);
  return half;
}

void PrintSummary(const std::optional<Half>& alone, const std::optional<Half>& weir, double setpoint) {
  std::printf("\n  %-34s %14s %14s\n", "", "RocksDB alone", "with weir");
  const auto row = [&](const char* what, double PhaseRow::*figure, int digits) {
    std::printf("  %-34s", what);
    for (const auto* half : {&alone, &weir}) {
      if (*half) {
        std::printf(" %14.*f", digits, (*half)->row.*figure);
      } else {
        std::printf(" %14s", "-");  // was not run
      }
    }
    std::printf("\n");
  };
  row("interactive write p50, ms", &PhaseRow::write_p50_ms, 1);
  row("                  p99, ms", &PhaseRow::write_p99_ms, 1);
  row("                  p99.9, ms", &PhaseRow::write_p999_ms, 1);
  row("                  longest, ms", &PhaseRow::write_max_ms, 1);
  row("                  refused", &PhaseRow::refused, 0);
  row("bulk, MB/s", &PhaseRow::bulk_mb_per_second, 1);
  row("RocksDB slowed or stopped writes, s", &PhaseRow::braked_seconds, 1);

  // The last third of the run shows the level that it settled to.
  if (!weir || weir->levels.empty()) return;
  std::vector<double> settled(weir->levels.begin() + static_cast<std::ptrdiff_t>(weir->levels.size() * 2 / 3),
                              weir->levels.end());
  std::sort(settled.begin(), settled.end());
  std::printf(
      "\n  Setpoint of bulk work %.2f; highest signal in the last third with weir: median %.2f, "
      "nine tenths of the time within %.2f to %.2f\n",
      setpoint, settled[settled.size() / 2], settled[settled.size() / 20], settled[settled.size() * 19 / 20]);
}

}  // namespace

int DemoCommand(int argc, char** argv) {
  CommandLine line(
      "weir-bench demo",
      "Overloads a real RocksDB twice, first with its own brakes alone and then with weir, and shows both.");
  int seconds = 30;
  std::string half = "both";
  std::string directory = std::filesystem::temp_directory_path().string();
  line.Add("--seconds", &seconds, "length of each half").ShowDefault().Within(5, 3600);
  line.Add("--dir", &directory, "where the databases are made (about 1 GB, removed at the end)")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--half", &half, "which half to run").ShowDefault().OneOf({"both", "alone", "weir"});
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  LimiterSettings settings;
  if (Status s = LoadLimiterSettings(ProcessEnvironment(), &settings); !s.ok()) return line.Fail(s, 2);
  std::printf(
      "4 bulk writers push as hard as they can; somebody waits for 200 small writes a second.\n"
      "RocksDB gets 32 MiB/s of disk for flushes and compactions. %d seconds each:\n",
      seconds);
  const auto scratch = TemporaryDirectory::Make(directory, "weir-demo");
  if (!scratch.ok()) return line.Fail(scratch.status(), 1);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::optional<Half> alone, weir;
  for (const bool throttled : {false, true}) {
    if (half == (throttled ? "alone" : "weir") || interrupted != 0) continue;
    const Result<Half> result = RunHalf(scratch.value()->path(), throttled, seconds, settings);
    if (!result.ok()) return line.Fail(result.status(), 1);
    (throttled ? weir : alone) = result.value();
  }
  if (interrupted != 0) return 130;
  PrintSummary(alone, weir, settings.bulk.setpoint);
  return 0;
}

}  // namespace weir
