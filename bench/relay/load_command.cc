#include "bench/relay/load_command.h"

#include <climits>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/results.h"
#include "bench/relay/campaign.h"
#include "bench/relay/growth.h"
#include "bench/relay/launch.h"
#include "bench/relay/lived_in.h"
#include "bench/relay/load_scenario.h"
#include "bench/relay/loop.h"
#include "config/command_line.h"
#include "config/text/parse.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr NumberRange kSizes{.min = 100, .max = 100'000'000, .unit = "events"};

struct Arguments {
  std::string url;
  int pid = 0;
  std::string server;
  std::string db;
  uint64_t content_bytes = 0;  // text size of the events that are printed; 0: prints those of ingest
  std::string cache = (fs::temp_directory_path() / "relay-load-events").string();
  std::string scratch = fs::temp_directory_path().string();
  std::string results;
  std::vector<std::string> compare;
  std::vector<std::string> imports;
  int repetitions = 3;
  int rounds = 3;
  uint64_t published = 100'000;
  uint64_t questions = 100;
  uint64_t memory_mb = 1400;
  std::vector<std::string> gauges;
  std::vector<std::string> sizes = {"100000", "1000000", "10000000"};
  double patience_seconds = 300;
  LoadPlan plan;
};

void AddCommonOptions(CommandLine& line, Arguments* a) {
  line.Add("--url", &a->url, "ws://127.0.0.1:PORT of the relay; with --server a free port is the default");
  line.Add("--pid", &a->pid, "process of a relay that runs, for its time, memory and writes").Within(1, INT_MAX);
  line.Add("--server", &a->server,
           "command that starts the relay; {port}, {db} and {dir} (for configuration) are filled in, and where it "
           "has several steps the last begins with exec")
      .Excludes("--pid");
  line.Add("--db", &a->db, "directory of the relay's database; with --server a temporary one is the default");
  line.Add("--events", &a->plan.events, "of ingest, which other scenarios' REQs ask for")
      .ShowDefault()
      .Within(100, 10'000'000);
  line.Add("--seed", &a->plan.seed, "another seed makes other events").ShowDefault();
  line.Add("--scale", &a->plan.scale, "of all numbers of events, requests and seconds")
      .ShowDefault()
      .Within(0.001, 100.0);
  line.Add("--patience", &a->patience_seconds, "seconds that one scenario may take")
      .ShowDefault()
      .Within(1.0, 86'400.0);
  line.Add("--cache", &a->cache, "where signed events are kept for the next run").ShowDefault();
  line.Add("--scratch", &a->scratch, "where databases are made, and removed at the end")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--results", &a->results, "directory for results.csv, results.md and machine.txt");
}

void AddCampaignOptions(CommandLine line, Arguments* a) {
  line.Add("--compare", &a->compare, "NAME=COMMAND of a relay to measure, as --server; once for each")
      .OneWordEach()
      .Check("NAME=COMMAND", [](const std::string& text) { return ParseContender(text).status(); });
  line.Add("--repetitions", &a->repetitions, "of the whole table").ShowDefault().Within(1, 1000);
}

void AddLivedInOptions(CommandLine line, Arguments* a) {
  AddCampaignOptions(line, a);
  line.Add("--import", &a->imports,
           "NAME=COMMAND that imports {file} into {db} of the relay of that name; once for each")
      .OneWordEach()
      .Check("NAME=COMMAND", [](const std::string& text) { return ParseContender(text).status(); })
      .Required();
  line.Add("--published", &a->published, "events by clients, after those of ingest were imported")
      .ShowDefault()
      .Within(100, 10'000'000);
  line.Add("--rounds", &a->rounds, "of all shapes in each repetition").ShowDefault().Within(1, 1000);
  line.Add("--questions", &a->questions, "of each shape after a start, where each question comes once")
      .ShowDefault()
      .Within<uint64_t>(1, 100'000);
  line.Add("--memory-mb", &a->memory_mb,
           "value of {memory_mb} in the commands, except where the memory target is a quarter of the database")
      .ShowDefault()
      .Within<uint64_t>(1, 16'777'216);
  line.Add("--gauge", &a->gauges, "a metric of the relay's /metrics to be noted after the events, once for each")
      .OneWordEach();
}

void AddGrowthOptions(CommandLine line, Arguments* a) {
  AddLivedInOptions(line, a);
  line.Add("--sizes", &a->sizes, "events to import, ascending; a size that --results has already is not measured again")
      .SplitAt(',')
      .ShowDefault()
      .Check("EVENTS", [](const std::string& text) { return ParseUnsigned(text, kSizes).status(); });
}

// Returns the relay of --url and --pid, or the one that --server starts.
Result<RunningRelay> FindRelay(const Arguments& a, const fs::path& scratch) {
  std::optional<Endpoint> endpoint;
  if (!a.url.empty()) {
    const auto parsed = ParseEndpoint(a.url);
    if (!parsed.ok()) return parsed.status();
    endpoint = parsed.value();
  }
  if (!a.server.empty()) return Launch(a.server, scratch, a.db.empty() ? scratch / "db" : fs::path(a.db), endpoint);
  if (!endpoint) return Status::Error("which relay? Give --url, or --server to start one");
  return RunningRelay{.target = {.endpoint = *endpoint, .pid = a.pid, .db = a.db}};
}

// Returns the figures of one scenario as text.
std::string PlainFigures(const LoadFigures& figures) {
  std::string text;
  for (const LoadFigure& figure : figures) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-44s %14s %s\n", figure.name.c_str(),
                  FigureText(figure.value, figure.unit).c_str(), figure.unit == "digest" ? "" : figure.unit.c_str());
    text += line;
  }
  return text;
}

Status RunScenario(const Arguments& a, LoadScenario* scenario) {
  auto scratch = TemporaryDirectory::Make(a.scratch);
  if (!scratch.ok()) return scratch.status();
  auto relay = FindRelay(a, scratch.value()->path());
  if (!relay.ok()) return relay.status();
  const auto figures = Measure(scenario, relay.value().target, a.plan);
  if (!figures.ok()) return WithFate(figures.status(), &relay.value());
  std::printf("%s\n%s", std::string(scenario->name()).c_str(), PlainFigures(figures.value()).c_str());
  return relay.value().process != nullptr ? relay.value().process->Stop() : Status();
}

Status RunAll(const Arguments& a, const std::string& command_line) {
  CampaignOptions options{.repetitions = a.repetitions,
                          .results = a.results.empty() ? "relay-results" : a.results,
                          .scratch = a.scratch,
                          .command_line = command_line};
  for (const std::string& text : a.compare) options.contenders.push_back(ParseContender(text).value());
  if (!a.server.empty()) options.contenders.push_back({.name = "relay", .command = a.server});
  if (options.contenders.empty()) {
    const auto relay = FindRelay(a, {});
    if (!relay.ok()) return relay.status();
    options.running = relay.value().target;
    options.repetitions = 1;  // a second round would publish the same events
  }
  return RunCampaign(options, a.plan);
}

Result<LivedInOptions> OptionsOfLife(const Arguments& a, const std::string& command_line) {
  LivedInOptions options{.repetitions = a.repetitions,
                         .rounds = a.rounds,
                         .published = a.published,
                         .questions = a.questions,
                         .memory_mb = a.memory_mb,
                         .gauges = a.gauges,
                         .results = a.results.empty() ? "relay-results" : a.results,
                         .scratch = a.scratch,
                         .command_line = command_line};
  for (const std::string& text : a.compare) options.servers.push_back(ParseContender(text).value());
  for (const std::string& text : a.imports) options.imports.push_back(ParseContender(text).value());
  if (options.servers.empty()) return Status::Error("which relays? Give --compare for each");
  return options;
}

Status RunAfterLife(const Arguments& a, const std::string& command_line) {
  const auto options = OptionsOfLife(a, command_line);
  return options.ok() ? RunLivedIn(options.value(), a.plan) : options.status();
}

Status RunSizes(const Arguments& a, const std::string& command_line) {
  const auto options = OptionsOfLife(a, command_line);
  if (!options.ok()) return options.status();
  std::vector<size_t> sizes;
  for (const std::string& size : a.sizes) sizes.push_back(ParseUnsigned(size, kSizes).value());
  return RunGrowth(options.value(), sizes, a.plan);
}

// Events of a given size are printed as they are made, and not kept.
Status PrintEvents(const Arguments& a) {
  if (a.content_bytes > 0) {
    EventRecipe recipe = a.plan.Recipe("large", a.plan.events);
    recipe.content_bytes = a.content_bytes;
    MakeEvents(recipe, [](const std::string& json) { std::cout << json << '\n'; });
    return std::cout.flush().good() ? Status() : Status::Error("cannot write the events");
  }
  const auto events = a.plan.Preloaded();
  if (!events.ok()) return events.status();
  for (size_t i = 0; i < events.value().size(); ++i) std::cout << events.value().json(i) << '\n';
  return std::cout.flush().good() ? Status() : Status::Error("cannot write the events");
}

}  // namespace

int LoadCommand(int argc, char** argv) {
  CommandLine line(
      "relay_load",
      "Loads a Nostr relay on this machine and reports what it took and what it cost. One thread; events are signed "
      "and\n"
      "framed before the clock starts. Exit status: 0 measured, 2 the relay or the arguments would not have it.");
  Arguments arguments;
  AddCommonOptions(line, &arguments);
  line.LetOptionsFollow();
  std::vector<std::unique_ptr<LoadScenario>> scenarios = AllScenarios();
  scenarios.push_back(MakeImport());
  scenarios.push_back(MakeSoak());
  scenarios.push_back(MakeFlood());
  for (const auto& scenario : scenarios)
    scenario->AddOptions(line.AddSubcommand(std::string(scenario->name()), std::string(scenario->meaning())));
  AddCampaignOptions(line.AddSubcommand("all", "every scenario, several times, of one relay or of several in turn"),
                     &arguments);
  AddLivedInOptions(
      line.AddSubcommand("lived-in",
                         "REQs of relays that all run, after an import, and after clients wrote and a restart"),
      &arguments);
  AddGrowthOptions(line.AddSubcommand("growth", "lived-in on databases of several sizes, and how costs grow"),
                   &arguments);
  CommandLine events = line.AddSubcommand("events", "print the events of ingest as JSON Lines, for an import");
  events.Add("--content-bytes", &arguments.content_bytes, "instead: notes of so much text").Within(1, 60'000);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  arguments.plan.cache = arguments.cache;
  arguments.plan.patience = FromSeconds(arguments.patience_seconds);
  InterruptLoopsOnSignals();
  RaiseFileLimit();
  Status status;
  const std::string chosen = line.subcommand();
  if (chosen == "events") status = PrintEvents(arguments);
  if (chosen == "all") status = RunAll(arguments, CommandAsTyped(argc, argv));
  if (chosen == "lived-in") status = RunAfterLife(arguments, CommandAsTyped(argc, argv));
  if (chosen == "growth") status = RunSizes(arguments, CommandAsTyped(argc, argv));
  for (const auto& scenario : scenarios)
    if (chosen == scenario->name()) status = RunScenario(arguments, scenario.get());
  return status.ok() ? 0 : line.Fail(status);
}

}  // namespace weir
