#include "bench/relay/campaign.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string_view>

#include "bench/measure/machine.h"
#include "bench/relay/launch.h"
#include "bench/relay/report.h"
#include "config/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// One life of a server. `idle` comes first, before anything has grown; `req` directly after `ingest`, while all relays
// hold the same; `burst` after a restart, for its memory is measured above what the server has when it has done
// nothing; `paced` on an empty database, so that no compaction of what others wrote is counted as its own.
struct Life {
  bool fresh;
  std::vector<std::string_view> scenarios;
};
const Life kLives[] = {
    {true, {"idle", "ingest", "req", "fan-out", "storm"}},
    {false, {"burst"}},
    {true, {"paced"}},
};

Status WriteFile(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::trunc);
  out << text;
  out.flush();
  return out.good() ? Status() : Status::Error("cannot write " + file.string());
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const LoadPlan& plan) : options_(options), plan_(plan) {}

  Status RunAll() {
    if (Status s = NoteMachine(); !s.ok()) return s;
    if (options_.running) {
      for (const auto& scenario : scenarios_)
        if (Status s = RunOne(*scenario, *options_.running, "relay", 1); !s.ok()) return s;
      return Status();
    }
    const size_t relays = options_.contenders.size();
    for (int repetition = 1; repetition <= options_.repetitions; ++repetition)
      for (size_t i = 0; i < relays; ++i) {
        const Contender& contender = options_.contenders[(i + static_cast<size_t>(repetition) - 1) % relays];
        if (Status s = RunContender(contender, repetition); !s.ok())
          return Status::Error(contender.name + ": " + s.message());
      }
    return Status();
  }

  const std::vector<ResultRow>& rows() const { return rows_; }

 private:
  Status NoteMachine() const {
    std::error_code ignored;  // opening says it better
    fs::create_directories(options_.results, ignored);
    return WriteFile(options_.results / "machine.txt", DescribeMachine() + "command: " + options_.command_line + "\n");
  }

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

  // Where a run fails, what the server said is worth keeping.
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
    std::vector<ResultRow> rows;
    for (const LoadFigure& figure : figures.value())
      rows.push_back({.date = date_, .relay = relay, .repetition = repetition, .scenario = name, .figure = figure});
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    return AppendResults(options_.results / "results.csv", rows);
  }

  const CampaignOptions& options_;
  const LoadPlan& plan_;
  const std::vector<std::unique_ptr<LoadScenario>> scenarios_ = AllScenarios();
  const std::string date_ = DateOfRun();
  std::vector<ResultRow> rows_;
};

}  // namespace

Result<Contender> ParseContender(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || text.substr(0, equals).find_first_of(",|/ ") != std::string::npos)
    return Status::Error("expected NAME=COMMAND");
  return Contender{.name = text.substr(0, equals), .command = text.substr(equals + 1)};
}

std::string CommandLine(int argc, char** argv) {
  std::string text = std::filesystem::path(argv[0]).filename();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    text += word.find_first_of(" \"|&;>") == std::string::npos ? " " + word : " '" + word + "'";
  }
  return text;
}

std::string DateOfRun() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &utc);
  return text;
}

Status RunCampaign(const CampaignOptions& options, const LoadPlan& plan) {
  Campaign campaign(options, plan);
  Status status = campaign.RunAll();
  if (campaign.rows().empty()) return status;
  const std::string tables = ResultTables(campaign.rows());
  std::fputs(tables.c_str(), stdout);
  const std::string text = "# Relay figures, " + std::to_string(options.repetitions) + " × scale " +
                           FormatNumber(plan.scale) + "\n\n```\n" + DescribeMachine() +
                           "command: " + options.command_line + "\n```\n\n" + tables;
  const Status written = WriteFile(options.results / "results.md", text);
  return status.ok() ? written : status;
}

}  // namespace weir
