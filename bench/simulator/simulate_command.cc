#include "bench/simulator/simulate_command.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "bench/simulator/law.h"
#include "bench/simulator/report.h"
#include "bench/simulator/tables.h"
#include "config/command_line.h"
#include "config/terminal_size.h"
#include "throttle/limiter_settings.h"

namespace weir {
namespace {

constexpr std::string_view kAllLaws = "all";

struct Flags {
  std::string scenario = "step";
  std::string law = "weir";
  std::string geometry = "recipe";
  double seconds = 0;
  uint64_t seed = 1;
  std::string table;
  bool list = false;
  bool csv = false;
  bool json = false;
};

template <typename All>
std::vector<std::string> NamesOf(const All& all) {
  std::vector<std::string> names;
  for (const auto& one : all) names.emplace_back(one.name);
  return names;
}

std::vector<std::string> NamesOfLaws() {
  std::vector<std::string> names(LawNames().begin(), LawNames().end());
  names.emplace_back(kAllLaws);
  return names;
}

void AddFlags(CommandLine& line, Flags& flags) {
  line.Add("--scenario", &flags.scenario, "what happens; --list tells them").OneOf(NamesOf(Scenarios())).ShowDefault();
  line.Add("--law", &flags.law, "weir, one of those it is compared with, or all of them side by side")
      .OneOf(NamesOfLaws())
      .ShowDefault();
  line.Add("--geometry", &flags.geometry, "size of the engine").OneOf(NamesOf(Geometries())).ShowDefault();
  line.Add("--seconds", &flags.seconds, "run so long instead of the scenario's own time").Within(1.0, 36000.0);
  line.Add("--seed", &flags.seed, "of the interactive arrivals").ShowDefault();
  line.Add("--list", &flags.list, "print the scenarios, laws and geometries");
  line.Add("--table", &flags.table, "print a table of the READMEs instead")
      .OneOf({"bake-off", "tuning", "growth"})
      .Excludes("--list");
  line.Add("--csv", &flags.csv, "print every tick").Excludes("--list");
  line.Add("--json", &flags.json, "print the figures").Excludes("--list").Excludes("--csv");
}

void PrintList(std::ostream& out) {
  const auto line = [&out](std::string name, std::string_view meaning) {
    name.resize(std::max<size_t>(name.size(), 28), ' ');
    out << "  " << name << " " << meaning << "\n";
  };
  out << "scenarios\n";
  for (const Scenario& s : Scenarios()) line(std::string(s.name), s.meaning);
  out << "geometries\n";
  for (const Geometry& g : Geometries()) line(std::string(g.name), g.meaning);
  out << "laws\n";
  line("weir", "the throttle itself, with the gains of the environment");
  line("none", "the engine's own brakes alone");
  line("plan", "a delay after every Nth operation, from 0.7 memory + 0.3 load");
  line("pd", "TiKV's flow controller of 2021");
  line("spring", "FoundationDB's Ratekeeper");
}

Reported RunOne(SimulationOptions options) { return {.options = options, .result = Simulate(options)}; }

std::vector<Reported> RunAll(const Flags& flags, const LimiterSettings& settings) {
  SimulationOptions options{.scenario = FindScenario(flags.scenario),
                            .geometry = FindGeometry(flags.geometry),
                            .law = flags.law,
                            .settings = settings,
                            .seconds = flags.seconds,
                            .seed = flags.seed};
  std::vector<Reported> runs;
  if (flags.law == kAllLaws) {
    for (const std::string_view law : LawNames()) {
      options.law = law;
      runs.push_back(RunOne(options));
    }
    return runs;
  }
  runs.push_back(RunOne(options));
  if (const Scenario* other = FindScenario(options.scenario->compare_with); other != nullptr && !flags.csv) {
    options.scenario = other;
    runs.push_back(RunOne(options));
  }
  return runs;
}

void PrintForPeople(const std::vector<Reported>& runs, const Flags& flags, const Terminal& terminal,
                    std::ostream& out) {
  const bool laws = flags.law == kAllLaws;
  std::vector<const Reported*> pointers;
  std::vector<std::string> headings;
  for (const Reported& run : runs) {
    pointers.push_back(&run);
    if (runs.size() > 1) headings.emplace_back(laws ? run.options.law : run.options.scenario->name);
    if (laws && pointers.size() > 1) continue;
    out << run.options.scenario->name << ": " << run.options.scenario->meaning << "\n";
    out << "law " << flags.law << ", geometry " << flags.geometry << "\n\n";
    if (!laws) out << Curves(run, terminal) << "\n";
  }
  out << FigureTable(pointers, headings);
}

// Describes standard output. The width is that of the terminal, or 80 if it is not a terminal. The locale decides about
// Unicode. Colour needs a terminal, and NO_COLOR must not be set.
Terminal TerminalOfStdout(const Environment& environment) {
  Terminal terminal;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  if (is_terminal) terminal.width = static_cast<int>(SizeOfTerminal(STDOUT_FILENO).columns);
  terminal.colour = is_terminal && environment.find("NO_COLOR") == environment.end();
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto found = environment.find(name);
    if (found == environment.end() || found->second.empty()) continue;
    terminal.unicode =
        found->second.find("UTF-8") != std::string::npos || found->second.find("utf8") != std::string::npos;
    break;
  }
  return terminal;
}

}  // namespace

int SimulateCommand(int argc, char** argv) {
  const Environment environment = ProcessEnvironment();
  return SimulateCommand(argc, argv, environment, TerminalOfStdout(environment), std::cout, std::cerr);
}

int SimulateCommand(int argc, char** argv, const Environment& environment, const Terminal& terminal, std::ostream& out,
                    std::ostream& err) {
  Flags flags;
  CommandLine line(
      argv[0],
      "Runs the throttle against a simulated engine that bulk work overloads, with the settings of the environment.");
  AddFlags(line, flags);
  if (const std::optional<int> code = line.Parse(argc, argv, out, err)) return *code;
  if (flags.list) {
    PrintList(out);
    return 0;
  }
  if (flags.csv && flags.law == kAllLaws) {
    err << "weir simulate: --csv takes one law\n";
    return 2;
  }
  LimiterSettings settings;
  if (const Status loaded = LoadLimiterSettings(environment, &settings); !loaded.ok()) {
    err << loaded.message() << "\n";
    return 2;
  }

  if (!flags.table.empty()) {
    const auto table = flags.table == "tuning" ? TuningTable : flags.table == "growth" ? GrowthTable : BakeOffTable;
    out << table(*FindGeometry(flags.geometry), settings);
    return 0;
  }
  const std::vector<Reported> runs = RunAll(flags, settings);
  std::vector<const Reported*> pointers;
  for (const Reported& run : runs) pointers.push_back(&run);
  if (flags.csv) {
    out << AsCsv(runs.front().result);
  } else if (flags.json) {
    out << AsJson(pointers);
  } else {
    PrintForPeople(runs, flags, terminal, out);
  }
  return 0;
}

}  // namespace weir
