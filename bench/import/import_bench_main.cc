// import_bench: what an import of generated events into a fresh database takes and costs, for several commands in turn.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/import/import_campaign.h"
#include "bench/relay/event_set.h"
#include "bench/relay/loop.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  size_t events = 100'000;
  uint64_t seed = 1;
  std::string file;
  std::string cache = (fs::temp_directory_path() / "relay-load-events").string();
  std::string results;
  std::vector<std::string> compare;
  ImportCampaign campaign{.scratch = fs::temp_directory_path()};
};

void AddTo(CLI::App* app, Arguments* a) {
  app->add_option("--compare", a->compare,
                  "NAME=COMMAND that imports {file} into the directory {db}; {dir} is the directory around it, for "
                  "configuration. Once for each")
      ->required()
      ->allow_extra_args(false)
      ->check(CLI::Validator([](const std::string& text) { return ParseContender(text).status().message(); },
                             "NAME=COMMAND"));
  app->add_option("--events", a->events, "how many")->capture_default_str()->check(CLI::Range(1, 100'000'000));
  app->add_option("--seed", a->seed, "another seed makes other events")->capture_default_str();
  app->add_option("--repetitions", a->campaign.repetitions, "of each command")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app->add_option("--cache", a->cache, "where signed events are kept for the next run")->capture_default_str();
  app->add_option("--scratch", a->campaign.scratch, "where databases are made, and removed at the end")
      ->capture_default_str()
      ->check(CLI::ExistingDirectory);
  app->add_option("--results", a->results, "directory for results.csv, results.md and machine.txt");
}

Status Run(Arguments& a) {
  const EventRecipe recipe{.purpose = "import", .seed = a.seed, .count = a.events, .day = Today()};
  const auto file = EventSet::MakeFile(recipe, a.cache);
  if (!file.ok()) return file.status();
  a.campaign.file = fs::absolute(file.value());
  a.campaign.scratch = fs::absolute(a.campaign.scratch);
  a.campaign.events = a.events;
  a.campaign.results = a.results;
  for (const std::string& text : a.compare) a.campaign.contenders.push_back(ParseContender(text).value());
  return RunImportCampaign(a.campaign);
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Imports generated events into fresh databases, by several commands in turn, and reports what each took: events\n"
      "a second, processor time, memory, disk. Exit status: 0 measured, 2 a command failed or the arguments are wrong.",
      "import_bench");
  Arguments arguments;
  AddTo(&app, &arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  arguments.campaign.command_line = CommandLine(argc, argv);
  InterruptLoopsOnSignals();
  const Status status = Run(arguments);
  if (status.ok()) return 0;
  std::fprintf(stderr, "import_bench: %s\n", status.message().c_str());
  return 2;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
