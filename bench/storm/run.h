// One run: a scenario under a policy, on a database of its own.
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
  LoadOptions load;  // bulk parties and scanners are the scenario's
  LimiterSettings limiter;
  double sustainable_mb_per_second = 0;  // the unit of the open loops, at scale 1

  std::filesystem::path template_path;
  std::filesystem::path scratch;  // directory in which the database is made
  std::filesystem::path results;  // directory that the figures are added to
};

// Called ten times a second with the state of the engine and the load; the run ends if it returns false.
using RunObserver = std::function<bool(const TimelineRow&, const RecentLoad&)>;

struct RunFigures {
  std::vector<PhaseRow> rows;  // one a phase
  std::vector<TimelineRow> timeline;
  std::vector<CcdfPoint> ccdf;
};
Result<RunFigures> Run(const RunSpec& spec, const RunObserver& observer = {});

// Runs, and writes the time line, the CCDF and then the rows to `results` before it returns; writes nothing if the run
// failed.
Status RunHere(const RunSpec& spec);

// The same in a process of its own, for a fresh heap, its own CPU time and memory, and because RocksDB may abort: then
// that is the outcome of the run, and no error. SIGINT, SIGTERM and SIGHUP end the run, and are an error. Call it only
// while this process has one thread.
Status RunApart(const RunSpec& spec);
Status MakeTemplateApart(const StormShape& shape, const std::filesystem::path& path);
// Returns true if one of these signals has come.
bool StormInterrupted();

}  // namespace weir
