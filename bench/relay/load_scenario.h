// What is measured, one scenario a file; each is a subcommand of relay_load and, but for `import` and `soak`, a step of
// `all`.
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

// <name> p50, p99, p99.9 and max, in ms; nothing where nothing was recorded.
void AddLatency(const std::string& name, const LatencyHistogram& latency, LoadFigures* figures);

// How many were answered, at which rate and how late those that were accepted, and what was refused by which word.
void AddPublished(const Publisher& publisher, LoadFigures* figures);

// The relay as it runs.
struct LoadTarget {
  Endpoint endpoint;
  pid_t pid = 0;             // 0: unknown, and no figures of the process
  std::filesystem::path db;  // empty: unknown, and no figures of the disk
};

// What all scenarios of a run share.
struct LoadPlan {
  uint64_t seed = 1;
  size_t events = 100'000;  // of `ingest`, which the REQs of other scenarios ask for
  double scale = 1;         // of all numbers of events and seconds, for a short look
  std::filesystem::path cache;
  Duration patience = std::chrono::seconds(300);  // of one scenario

  size_t Scaled(size_t count) const;
  double Scaled(double seconds) const { return seconds * scale; }
  EventRecipe Recipe(const std::string& purpose, size_t count, bool one_author = false) const;
  Result<EventSet> Events(const std::string& purpose, size_t count, bool one_author = false) const {
    return EventSet::Get(Recipe(purpose, count, one_author), cache);
  }
  // What `ingest` publishes.
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
// No steps of `all`: the first needs a command, the second hours.
std::unique_ptr<LoadScenario> MakeImport();
std::unique_ptr<LoadScenario> MakeSoak();

// Runs it, and notes the load average of the minute before beside its figures.
Result<LoadFigures> Measure(LoadScenario* scenario, const LoadTarget& target, const LoadPlan& plan);

// In the order of `all`.
std::vector<std::unique_ptr<LoadScenario>> AllScenarios();

}  // namespace weir
