// import_bench: measures the time and cost of an import of generated events into a fresh database, for several commands
// in turn.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/import/import_campaign.h"
#include "bench/relay/event_set.h"
#include "bench/relay/loop.h"
#include "config/command_line.h"

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

void AddTo(CommandLine& line, Arguments* a) {
  line.Add("--compare", &a->compare,
           "NAME=COMMAND that imports {file} into the directory {db}; {dir} is the directory around it, for "
           "configuration. Once for each")
      .Required()
      .OneWordEach()
      .Check("NAME=COMMAND", [](const std::string& text) { return ParseContender(text).status(); });
  line.Add("--events", &a->events, "how many").ShowDefault().Within(1, 100'000'000);
  line.Add("--seed", &a->seed, "another seed makes other events").ShowDefault();
  line.Add("--repetitions", &a->campaign.repetitions, "of each command").ShowDefault().Within(1, 1000);
  line.Add("--cache", &a->cache, "where signed events are kept for the next run").ShowDefault();
  line.Add("--scratch", &a->campaign.scratch, "where databases are made, and removed at the end")
      .ShowDefault()
      .ExistingDirectory();
  line.Add("--results", &a->results, "directory for results.csv, results.md and machine.txt");
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
  CommandLine line(
      "import_bench",
      "Imports generated events into fresh databases, by several commands in turn, and reports what each took: events\n"
      "a second, processor time, memory, disk. Exit status: 0 measured, 2 a command failed or the arguments are "
      "wrong.");
  Arguments arguments;
  AddTo(line, &arguments);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  arguments.campaign.command_line = CommandAsTyped(argc, argv);
  InterruptLoopsOnSignals();
  const Status status = Run(arguments);
  return status.ok() ? 0 : line.Fail(status);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
