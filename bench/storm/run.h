// Executes one run of the storm: a scenario under a policy, on a database of its own.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bench/storm/engine.h"
#include "bench/storm/figures.h"
#include "bench/storm/load.h"
#include "bench/storm/scenario.h"
#include "config/status.h"
#include "throttle/limiter_settings.h"

namespace weir {

struct RunSpec {
  RunKey key;
  StormScenario scenario;
  StormShape shape;
  LoadOptions load;  // its bulk writers and scanners are replaced by those of the scenario
  LimiterSettings limiter;
  double sustainable_mb_per_second = 0;  // at scale 1; the loads of open loops are multiples of it

  std::filesystem::path template_path;
  std::filesystem::path scratch;  // directory in which the run makes its database
  std::filesystem::path results;  // directory to which the run adds its figures
};

// Called ten times a second with the state of the engine and of the load. If it returns false, the run ends.
using RunObserver = std::function<bool(const TimelineRow&, const RecentLoad&)>;

struct RunFigures {
  std::vector<PhaseRow> rows;  // one for each phase; of all databases of the shape together
  // These are those of the first database.
  std::vector<TimelineRow> timeline;
  std::vector<CcdfPoint> ccdf;
};
Result<RunFigures> Run(const RunSpec& spec, const RunObserver& observer = {});

// Calls Run, and writes the time line, the CCDF and then the rows to `results`. Writes no file if the run fails.
Status RunHere(const RunSpec& spec);

// RunApart calls RunHere in a child process, so that the run has a fresh heap and its own CPU time and memory, and
// because RocksDB may abort. An abort is an outcome of the run, not an error. SIGINT, SIGTERM and SIGHUP end the run
// with an error. MakeTemplateApart calls MakeTemplate in a child process. REQUIRES: this process has only one thread.
Status RunApart(const RunSpec& spec);
Status MakeTemplateApart(const StormShape& shape, const std::filesystem::path& path);
// Returns true if the process has received one of these signals.
bool StormInterrupted();

}  // namespace weir
