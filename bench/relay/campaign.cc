#include "bench/relay/campaign.h"

#include <cstdio>
#include <string_view>

#include "bench/relay/launch.h"
#include "bench/relay/report.h"
#include "config/text/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// The scenarios of a server between its start and its stop. `idle` comes first, before the server's memory has grown.
// `req` comes directly after `ingest`, while all relays hold the same events. `burst` comes after a restart, because
// its figure is the growth above the memory of a fresh server. `paced` runs on an empty database, so that compactions
// of other scenarios' events do not count.
struct Life {
  bool fresh;
  std::vector<std::string_view> scenarios;
};
const Life kLives[] = {
    {true, {"idle", "ingest", "req", "fan-out", "storm"}},
    {false, {"burst"}},
    {true, {"paced"}},
};

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const LoadPlan& plan) : options_(options), plan_(plan) {}

  Status RunAll() {
    std::error_code ignored;  // writing the file reports the error better
    fs::create_directories(options_.results, ignored);
    if (Status s = AppendResults(options_.results / "results.csv", {}); !s.ok()) return s;
    if (options_.running) {
      for (const auto& scenario : scenarios_)
        if (Status s = RunOne(*scenario, *options_.running, "relay", 1); !s.ok()) return s;
      return Status();
    }
    return RunInTurn(options_.contenders, options_.repetitions, [this](const Contender& contender, int repetition) {
      return RunContender(contender, repetition);
    });
  }

  Results& results() { return results_; }

 private:
  Status RunContender(const Contender& contender, int repetition) {
    auto scratch = TemporaryDirectory::Make(options_.scratch);
    if (!scratch.ok()) return scratch.status();
    fs::path dir;
    int number = 0;
    for (const Life& life : kLives) {
      if (life.fresh) dir = scratch.value()->path() / std::to_string(++number);
      auto relay = Launch(contender.command, dir, dir / "db", std::nullopt);
      if (!relay.ok()) return relay.status();
      for (const std::string_view name : life.scenarios)
        if (Status s = RunOne(*Find(name), relay.value().target, contender.name, repetition); !s.ok())
          return Status::Error(WithFate(s, &relay.value()).message() + KeptLog(dir, contender.name));
      if (Status s = relay.value().process->Stop(); !s.ok()) return s;
    }
    return Status();
  }

  // Keeps the server's log of a run that failed; returns words for the error message.
  std::string KeptLog(const fs::path& dir, const std::string& name) const {
    const fs::path kept = options_.results / (name + ".log");
    std::error_code error;
    fs::copy_file(dir / "relay.log", kept, fs::copy_options::overwrite_existing, error);
    return error ? "" : "; its log is " + kept.string();
  }

  LoadScenario* Find(std::string_view name) const {
    for (const auto& scenario : scenarios_)
      if (scenario->name() == name) return scenario.get();
    return nullptr;
  }

  Status RunOne(LoadScenario& scenario, const LoadTarget& target, const std::string& relay, int repetition) {
    const std::string name(scenario.name());
    std::fprintf(stderr, "[%d/%d] %s: %s\n", repetition, options_.repetitions, relay.c_str(), name.c_str());
    const auto figures = Measure(&scenario, target, plan_);
    if (!figures.ok()) return Status::Error(name + ": " + figures.status().message());
    return results_.Add(relay, repetition, name, figures.value());
  }

  const CampaignOptions& options_;
  const LoadPlan& plan_;
  const std::vector<std::unique_ptr<LoadScenario>> scenarios_ = AllScenarios();
  Results results_{options_.results, options_.command_line};
};

}  // namespace

Status RunCampaign(const CampaignOptions& options, const LoadPlan& plan) {
  Campaign campaign(options, plan);
  const Status status = campaign.RunAll();
  const Results& results = campaign.results();
  const Status written =
      results.Finish("Relay figures, " + std::to_string(options.repetitions) + " × scale " + FormatNumber(plan.scale),
                     ResultTables(results.rows()));
  return status.ok() ? written : status;
}

}  // namespace weir
