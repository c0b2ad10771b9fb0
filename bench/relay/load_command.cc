#include "bench/relay/load_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "bench/relay/campaign.h"
#include "bench/relay/launch.h"
#include "bench/relay/load_scenario.h"
#include "bench/relay/loop.h"
#include "bench/relay/report.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string url;
  int pid = 0;
  std::string server;
  std::string db;
  std::string cache = (fs::temp_directory_path() / "relay-load-events").string();
  std::string scratch = fs::temp_directory_path().string();
  std::string results;
  std::vector<std::string> compare;
  int repetitions = 3;
  double patience_seconds = 300;
  LoadPlan plan;
};

void AddCommonOptions(CLI::App* app, Arguments* a) {
  app->add_option("--url", a->url, "ws://127.0.0.1:PORT of the relay; with --server a free port is the default");
  CLI::Option* pid = app->add_option("--pid", a->pid, "process of a relay that runs, for its time, memory and writes")
                         ->check(CLI::PositiveNumber);
  app->add_option(
         "--server", a->server,
         "command that starts the relay; {port}, {db} and {dir} (for configuration) are filled in, and where it "
         "has several steps the last begins with exec")
      ->excludes(pid);
  app->add_option("--db", a->db, "directory of the relay's database; with --server a temporary one is the default");
  app->add_option("--events", a->plan.events, "of ingest, which other scenarios' REQs ask for")
      ->capture_default_str()
      ->check(CLI::Range(100, 10'000'000));
  app->add_option("--seed", a->plan.seed, "another seed makes other events")->capture_default_str();
  app->add_option("--scale", a->plan.scale, "of all numbers of events, requests and seconds")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 100.0));
  app->add_option("--patience", a->patience_seconds, "seconds that one scenario may take")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 86'400.0));
  app->add_option("--cache", a->cache, "where signed events are kept for the next run")->capture_default_str();
  app->add_option("--scratch", a->scratch, "where databases are made, and removed at the end")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app->add_option("--results", a->results, "directory for results.csv, results.md and machine.txt");
}

void AddCampaignOptions(CLI::App* all, Arguments* a) {
  all->add_option("--compare", a->compare, "NAME=COMMAND of a relay to measure, as --server; once for each")
      ->allow_extra_args(false)
      ->check(CLI::Validator([](const std::string& text) { return ParseContender(text).status().message(); },
                             "NAME=COMMAND"));
  all->add_option("--repetitions", a->repetitions, "of the whole table")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
}

// The relay of --url and --pid, or the one that --server starts.
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

Status PrintEvents(const Arguments& a) {
  const auto events = a.plan.Preloaded();
  if (!events.ok()) return events.status();
  for (size_t i = 0; i < events.value().size(); ++i) std::cout << events.value().json(i) << '\n';
  return std::cout.flush().good() ? Status() : Status::Error("cannot write the events");
}

}  // namespace

int LoadCommand(int argc, char** argv) {
  CLI::App app(
      "Loads a Nostr relay on this machine and reports what it took and what it cost. One thread; events are signed "
      "and\n"
      "framed before the clock starts. Exit status: 0 measured, 2 the relay or the arguments would not have it.",
      "relay_load");
  Arguments arguments;
  AddCommonOptions(&app, &arguments);
  app.fallthrough();
  app.require_subcommand(1);
  std::vector<std::unique_ptr<LoadScenario>> scenarios = AllScenarios();
  scenarios.push_back(MakeImport());
  for (const auto& scenario : scenarios)
    scenario->AddOptions(app.add_subcommand(std::string(scenario->name()), std::string(scenario->meaning())));
  CLI::App* all = app.add_subcommand("all", "every scenario, several times, of one relay or of several in turn");
  AddCampaignOptions(all, &arguments);
  CLI::App* events = app.add_subcommand("events", "print the events of ingest as JSON Lines, for an import");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  arguments.plan.cache = arguments.cache;
  arguments.plan.patience = FromSeconds(arguments.patience_seconds);
  InterruptLoopsOnSignals();
  RaiseFileLimit();
  Status status;
  if (*events) status = PrintEvents(arguments);
  if (*all) status = RunAll(arguments, CommandLine(argc, argv));
  for (const auto& scenario : scenarios)
    if (app.got_subcommand(std::string(scenario->name()))) status = RunScenario(arguments, scenario.get());
  if (status.ok()) return 0;
  std::fprintf(stderr, "relay_load: %s\n", status.message().c_str());
  return 2;
}

}  // namespace weir
