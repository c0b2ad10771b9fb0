// The scenarios of relay_load, each in a file of its own. Each scenario is a subcommand and, except for `import`,
// `soak` and `flood`, a step of the subcommand `all`.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/latency_histogram.h"
#include "bench/measure/results.h"
#include "bench/relay/endpoint.h"
#include "bench/relay/event_set.h"
#include "config/command_line.h"
#include "config/status.h"

namespace weir {

class Publisher;

// Adds the figures "<name> p50", p99, p99.9 and max, in ms; adds none if no latency was recorded.
void AddLatency(const std::string& name, const LatencyHistogram& latency, LoadFigures* figures);

// Adds the number of answered events, the rate and latency of the accepted ones, and the number of refused ones for
// each reason (Publisher::refused).
void AddPublished(const Publisher& publisher, LoadFigures* figures);

// The running relay that is measured.
struct LoadTarget {
  Endpoint endpoint;
  pid_t pid = 0;             // 0: not known; then there are no figures of the process
  std::filesystem::path db;  // empty: not known; then there are no figures of the disk
};

// The parameters that all scenarios of a run share.
struct LoadPlan {
  uint64_t seed = 1;
  size_t events = 100'000;  // number of events that `ingest` publishes, and that the REQs of other scenarios ask for
  double scale = 1;         // factor for numbers of events, REQs and idle connections, and for seconds
  std::filesystem::path cache;
  Duration patience = std::chrono::seconds(300);  // longest time for a scenario, beyond its own seconds

  size_t Scaled(size_t count) const;
  double Scaled(double seconds) const { return seconds * scale; }
  EventRecipe Recipe(const std::string& purpose, size_t count, bool one_author = false) const;
  Result<EventSet> Events(const std::string& purpose, size_t count, bool one_author = false) const {
    return EventSet::Get(Recipe(purpose, count, one_author), cache);
  }
  // Returns the events that `ingest` publishes.
  Result<EventSet> Preloaded() const { return Events("ingest", Scaled(events)); }
};

class LoadScenario {
 public:
  virtual ~LoadScenario() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view meaning() const = 0;
  virtual void AddOptions(CommandLine line) = 0;
  virtual Result<LoadFigures> Run(const LoadTarget& target, const LoadPlan& plan) = 0;
};

std::unique_ptr<LoadScenario> MakeIngest();
std::unique_ptr<LoadScenario> MakePaced();
std::unique_ptr<LoadScenario> MakeReq();
std::unique_ptr<LoadScenario> MakeStormOnRelay();
std::unique_ptr<LoadScenario> MakeBurst();
std::unique_ptr<LoadScenario> MakeFanOut();
std::unique_ptr<LoadScenario> MakeIdle();
// These three are not steps of `all`: MakeImport needs the command of an import, MakeSoak takes hours, and MakeFlood
// needs a relay that trusts its operator.
std::unique_ptr<LoadScenario> MakeImport();
std::unique_ptr<LoadScenario> MakeSoak();
std::unique_ptr<LoadScenario> MakeFlood();

// Runs the scenario, and adds the machine's load average of the minute before to its figures.
Result<LoadFigures> Measure(LoadScenario* scenario, const LoadTarget& target, const LoadPlan& plan);

// Returns the scenarios of `all`, in its order: all except `import`, `soak` and `flood`.
std::vector<std::unique_ptr<LoadScenario>> AllScenarios();

}  // namespace weir
