#include "bench/storm/storm_command.h"

#include <rocksdb/version.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "bench/measure/machine.h"
#include "bench/storm/campaign.h"
#include "bench/storm/engine.h"
#include "bench/storm/run.h"
#include "bench/storm/wire/wire_storm.h"
#include "config/command_line.h"
#include "config/settings.h"
#include "config/text/parse.h"
#include "throttle/limiter_settings.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

struct StormArguments {
  bool quick = false;
  bool report = false;
  bool json = false;
  bool list = false;
  std::vector<std::string> scenarios;
  std::vector<std::string> policies;
  std::vector<std::string> shapes;
  int repetitions = 3;
  double scale = 1;
  double sustainable_mb_per_second = 0;
  std::string label;
  std::string engine = "rocksdb";
  std::string url;
  std::string results;
  std::string scratch = fs::temp_directory_path().string();
};

auto Identity(const RunKey& k) { return std::tuple(k.shape, k.scale, k.scenario, k.policy, k.repetition, k.label); }

void PrintList() {
  std::printf("Scenarios:\n");
  for (const StormScenario& s : StormScenarios()) std::printf("  %-12s %s\n", s.name.c_str(), s.meaning.c_str());
  std::printf("\nShapes of the engine and of what is stored:\n");
  for (const StormShape& s : StormShapes()) std::printf("  %-12s %s\n", s.name.c_str(), s.meaning.c_str());
  std::printf("\nPolicies; name@value sets the knob:\n");
  for (const PolicyKind& k : PolicyKinds()) {
    std::printf("  %-12s %s%s\n", k.name.c_str(), k.meaning.c_str(),
                k.knob.empty() ? "" : (" (knob: " + k.knob + ")").c_str());
  }
}

class Experiment {
 public:
  Experiment(const StormArguments& arguments, const LimiterSettings& limiter, fs::path scratch)
      : arguments_(arguments), limiter_(limiter), scratch_(std::move(scratch)) {}

  // Runs those of `runs` that are not in the results yet.
  Status RunAll(const std::vector<RunKey>& runs) {
    std::set<decltype(Identity(RunKey{}))> done;
    Result<std::vector<PhaseRow>> rows = Rows();
    if (!rows.ok()) return rows.status();
    for (const PhaseRow& row : rows.value()) done.insert(Identity(row.run));
    if (Status s = NoteMachine(); !s.ok()) return s;
    int number = 0;
    for (RunKey key : runs) {
      if (key.label.empty()) key.label = arguments_.label;
      ++number;
      if (done.contains(Identity(key))) continue;
      std::fprintf(stderr, "[%d/%zu] %s\n", number, runs.size(), RunName(key).c_str());
      if (Status s = RunOne(key); !s.ok()) return s;
    }
    return Status();
  }

  Result<std::vector<PhaseRow>> Rows() const {
    const fs::path file = fs::path(arguments_.results) / "results.csv";
    return fs::exists(file) ? ReadRows(file) : Result<std::vector<PhaseRow>>(std::vector<PhaseRow>{});
  }

 private:
  Status NoteMachine() const {
    const fs::path file = fs::path(arguments_.results) / "machine.txt";
    std::error_code ignored;  // opening the file reports the error better
    fs::create_directories(arguments_.results, ignored);
    std::stringstream there;
    there << std::ifstream(file).rdbuf();
    if (there.str().find("\nengine: ") != std::string::npos)
      return Status::Error(arguments_.results +
                           " has results of another engine; name another directory with --results");
    std::ofstream out(file);
    out << DescribeMachine() << "RocksDB: " << ROCKSDB_MAJOR << '.' << ROCKSDB_MINOR << '.' << ROCKSDB_PATCH << "\n";
    return out.flush().good() ? Status() : Status::Error("cannot write " + file.string());
  }

  Status RunOne(const RunKey& key) {
    RunSpec spec{.key = key,
                 .scenario = *FindStormScenario(key.scenario),
                 .shape = Scaled(*FindStormShape(key.shape), key.scale),
                 .limiter = limiter_,
                 .scratch = scratch_,
                 .results = arguments_.results};
    Result<fs::path> ready = Template(spec.shape);
    if (!ready.ok()) return ready.status();
    spec.template_path = ready.value();
    if (Status s = FindSustainable(&spec); !s.ok()) return s;
    return RunApart(spec);
  }

  // Sets the rate that is 1 for the open loops: the given one, or the one that weir sustained in ten minutes. Returns
  // an error if an open loop has neither.
  Status FindSustainable(RunSpec* spec) const {
    const auto& phases = spec->scenario.phases;
    const bool needed = std::any_of(phases.begin(), phases.end(), [](const StormPhase& phase) {
      return phase.bulk.kind == BulkLoad::Kind::kOpenLoop;
    });
    spec->sustainable_mb_per_second = arguments_.sustainable_mb_per_second;
    if (!needed || spec->sustainable_mb_per_second > 0) return Status();
    const Result<std::vector<PhaseRow>> rows = Rows();
    if (!rows.ok()) return rows.status();
    spec->sustainable_mb_per_second = SustainedRate(rows.value());
    if (spec->sustainable_mb_per_second > 0) return Status();
    return Status::Error(spec->key.scenario +
                         " needs what is sustained: run --scenario steady --policy weir before, or give --sustainable");
  }

  Result<fs::path> Template(const StormShape& shape) {
    const fs::path path = scratch_ / ("template-" + shape.name + "-" + FormatNumber(shape.scale));
    if (fs::exists(path)) return path;
    std::fprintf(stderr, "preloading %llu values\n", static_cast<unsigned long long>(shape.preloaded_values));
    const Status status = MakeTemplateApart(shape, path);
    if (!status.ok()) return status;
    return path;
  }

  const StormArguments& arguments_;
  const LimiterSettings& limiter_;
  const fs::path scratch_;
};

// Runs each shape under RocksDB alone, low_pri and weir, then under the best fixed rate for it, if a rate meets the
// rule.
Status RunMatrix(const StormArguments& arguments, Experiment* experiment) {
  std::vector<ShapePolicies> shapes, oracles;
  for (const std::string& shape : arguments.shapes) shapes.push_back({shape, {"alone", "low_pri", "weir"}});
  if (Status s = experiment->RunAll(Campaign(1, {"shape"}, shapes, arguments.repetitions)); !s.ok()) return s;
  for (const std::string& shape : arguments.shapes) {
    Result<std::vector<PhaseRow>> rows = experiment->Rows();
    while (rows.ok()) {
      const std::optional<RunKey> next = NextOfShapeSweep(rows.value(), shape);
      if (!next) break;
      if (Status s = experiment->RunAll({*next}); !s.ok()) return s;
      rows = experiment->Rows();
    }
    if (!rows.ok()) return rows.status();
    const std::string oracle = BestOracle(rows.value(), ShapeOracle(shape));
    if (!oracle.empty()) oracles.push_back({shape, {oracle}});
  }
  return experiment->RunAll(Campaign(1, {"shape"}, oracles, arguments.repetitions));
}

Status RunWhatWasAsked(const StormArguments& arguments, Experiment* experiment) {
  const auto each = [&](const std::vector<std::string>& policies) {
    std::vector<ShapePolicies> shapes;
    for (const std::string& shape : arguments.shapes) shapes.push_back({shape, policies});
    if (shapes.empty()) shapes.push_back({.policies = policies});
    return shapes;
  };
  if (arguments.quick) return experiment->RunAll(Campaign(1, {"quick"}, each({"alone", "weir"}), 1));
  if (!arguments.shapes.empty() && arguments.scenarios.empty() && arguments.policies.empty()) {
    if (arguments.scale != 1) return Status::Error("--scale with --shape wants a --scenario or a --policy too");
    return RunMatrix(arguments, experiment);
  }
  if (!arguments.scenarios.empty() || !arguments.policies.empty()) {
    std::vector<std::string> policies = arguments.policies;
    if (policies.empty())
      for (const PolicyKind& kind : PolicyKinds()) policies.push_back(kind.name);
    std::vector<std::string> scenarios = arguments.scenarios;
    if (scenarios.empty()) scenarios.push_back(arguments.shapes.empty() ? "burst" : "shape");
    return experiment->RunAll(Campaign(arguments.scale, scenarios, each(policies), arguments.repetitions));
  }
  if (Status s = experiment->RunAll(OracleSweep(arguments.repetitions)); !s.ok()) return s;
  const Result<std::vector<PhaseRow>> rows = experiment->Rows();
  if (!rows.ok()) return rows.status();
  const std::string oracle = BestOracle(rows.value());
  if (oracle.empty()) return Status::Error("no static rate kept interactive writes fast; is the machine busy?");
  return experiment->RunAll(FullCampaign(oracle, arguments.repetitions));
}

Status RunOnWire(const StormArguments& arguments, const LimiterSettings& limiter) {
  if (arguments.report) return ReportWireStorm(arguments.results);
  const bool is_postgres = arguments.engine == "postgres";
  const bool is_myrocks = arguments.engine == "myrocks";
  PostgresMonitorSettings postgres;
  Neo4jMonitorSettings neo4j;
  SettingTable table;
  Declare(table, postgres);
  Declare(table, neo4j);
  if (Status loaded = table.Load(ProcessEnvironment()); !loaded.ok()) return loaded;
  WireStormPlan plan = is_postgres ? PostgresPlan() : is_myrocks ? MyRocksPlan() : Neo4jPlan();
  plan.results = arguments.results;
  plan.repetitions = arguments.repetitions;
  plan.limiter = limiter;
  if (arguments.quick) {
    plan.repetitions = 1;
    plan.calm_seconds = 3;
    plan.burst_seconds = 10;
  }
  Result<std::unique_ptr<WireEngine>> engine = is_postgres  ? Result(MakePostgresEngine(arguments.url, postgres))
                                               : is_myrocks ? MakeMyRocksEngine(arguments.url)
                                                            : MakeNeo4jEngine(arguments.url, neo4j);
  return engine.ok() ? RunWireStorm(*engine.value(), plan) : engine.status();
}

// Refuses the flags that only the storm on RocksDB has.
Status CheckForWire(const StormArguments& arguments) {
  if (arguments.url.empty() && !arguments.report) return Status::Error("--engine " + arguments.engine + " needs --url");
  if (!arguments.scenarios.empty() || !arguments.policies.empty() || !arguments.shapes.empty() ||
      arguments.scale != 1 || !arguments.label.empty() || arguments.sustainable_mb_per_second != 0 || arguments.json)
    return Status::Error(
        "--scenario, --policy, --shape, --scale, --label, --sustainable and --json are for --engine rocksdb");
  return {};
}

// Runs the script that reads the results and prints their tables.
int Report(const StormArguments& arguments) {
  std::vector<const char*> words = {"python3", WEIR_SOURCE_DIR "/bench/storm/storm-report", arguments.results.c_str()};
  if (arguments.json) words.push_back("--json");
  if (arguments.quick) words.push_back("--quick");
  words.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execvp(words[0], const_cast<char* const*>(words.data()));
    std::fprintf(stderr, "weir-bench storm: the report needs python3\n");
    _exit(1);
  }
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

}  // namespace

int StormCommand(int argc, char** argv) {
  CommandLine line(
      "weir-bench storm",
      "Overloads a real RocksDB under each policy, and reports what interactive work felt and what bulk work got.\n"
      "Without a choice of scenarios or policies: the full experiment, some hours. Results are added to; runs that\n"
      "are there already are not repeated, so an experiment that was interrupted goes on.");
  StormArguments arguments;
  line.Add("--quick", &arguments.quick,
           "a minute: RocksDB alone and weir; fails when weir is not far better; keeps no results");
  line.Add("--scenario", &arguments.scenarios, "choose scenarios").SplitAt(',').Excludes("--quick");
  line.Add("--policy", &arguments.policies, "choose policies: weir, static@5.5 (knob)")
      .SplitAt(',')
      .Excludes("--quick");
  line.Add("--shape", &arguments.shapes,
           "choose shapes, or all: of the engine and of what is stored; without scenarios and policies the matrix of "
           "RocksDB alone, low_pri, the best fixed rate and weir")
      .SplitAt(',');
  line.Add("--repetitions", &arguments.repetitions, "of each").ShowDefault().Within(1, 1000);
  line.Add("--scale", &arguments.scale, "of all sizes and of the disk").ShowDefault().Within(0.1, 16.0);
  line.Add("--sustainable", &arguments.sustainable_mb_per_second,
           "bulk MB/s that open loops are measured by; default: what weir sustained in the results");
  line.Add("--label", &arguments.label, "name of an experiment, beside the policy in the report")
      .Check("NAME", [](const std::string& label) {
        const bool plain = label.find_first_of(",/\"\\\n") == std::string::npos;
        return plain ? Status() : Status::Error("letters, digits and = . _ - only");
      });
  line.Add("--engine", &arguments.engine,
           "rocksdb; or postgres, myrocks or neo4j, a server at --url: alone and with weir")
      .ShowDefault()
      .OneOf({"rocksdb", "postgres", "myrocks", "neo4j"});
  line.Add("--url", &arguments.url,
           "of that server: postgres://user@host:port/database, mysql://user@host:port/database, "
           "http://user:password@host:port/database, "
           "https://…?ca=FILE; a table "
           "weir_storm is made there");
  line.Add("--results", &arguments.results,
           "directory of CSV files; default: storm-results, for another engine storm-results/ENGINE");
  line.Add("--dir", &arguments.scratch, "where databases are made (1 to 10 GB, removed at the end)")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--report", &arguments.report, "run nothing, report the results that are there");
  line.Add("--json", &arguments.json, "lowest, median and highest of every figure, as JSON");
  line.Add("--list", &arguments.list, "scenarios, shapes and policies");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  if (arguments.list) {
    PrintList();
    return 0;
  }
  if (arguments.results.empty())
    arguments.results = arguments.engine == "rocksdb" ? "storm-results" : "storm-results/" + arguments.engine;
  LimiterSettings limiter;
  if (Status s = LoadLimiterSettings(ProcessEnvironment(), &limiter); !s.ok()) return line.Fail(s, 2);
  for (const std::string& name : arguments.scenarios)
    if (FindStormScenario(name) == nullptr)
      return line.Fail(Status::Error("no scenario \"" + name + "\"; --list tells them"), 2);
  if (arguments.shapes == std::vector<std::string>{"all"}) {
    arguments.shapes.clear();
    for (const StormShape& shape : StormShapes()) arguments.shapes.push_back(shape.name);
  }
  for (const std::string& name : arguments.shapes)
    if (FindStormShape(name) == nullptr)
      return line.Fail(Status::Error("no shape \"" + name + "\"; --list tells them"), 2);
  for (const std::string& spec : arguments.policies)
    if (const auto policy = MakePolicy(spec, {}, limiter); !policy.ok()) return line.Fail(policy.status(), 2);

  if (arguments.engine != "rocksdb") {
    if (Status known = CheckForWire(arguments); !known.ok()) return line.Fail(known, 2);
  }
  auto scratch = TemporaryDirectory::Make(arguments.scratch, "weir-storm");
  if (!scratch.ok()) return line.Fail(scratch.status(), 1);
  if (arguments.quick) arguments.results = (scratch.value()->path() / "results").string();
  if (arguments.engine != "rocksdb") {
    const Status stormed = RunOnWire(arguments, limiter);
    return stormed.ok() ? 0 : line.Fail(stormed, 1);
  }
  Experiment experiment(arguments, limiter, scratch.value()->path());
  const Status status = arguments.report ? Status() : RunWhatWasAsked(arguments, &experiment);
  if (const auto rows = experiment.Rows(); !rows.ok()) return line.Fail(rows.status(), 1);
  const int code = Report(arguments);
  if (!status.ok()) return line.Fail(status, StormInterrupted() ? 130 : 1);
  return code;
}

}  // namespace weir
