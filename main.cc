// The program weir: runs the command that the first argument names.
//
// A command is a function int XCommand(int argc, char** argv) that is defined in the folder that does the work, and
// that parses its own flags (config/command_line.h); argv[0] is "weir x". It returns the exit status: mostly 0, 1 if
// the work failed, or 2 if the arguments or settings are wrong. The --help of a command says what its statuses mean,
// such as those of `weir import` and `weir doctor`. `weir config` shows the settings that the relay's configuration and
// the limiters declare.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "bench/advise/advise_command.h"
#include "bench/simulator/simulate_command.h"
#include "config/command_line.h"
#include "config/completion.h"
#include "config/config_command.h"
#include "import/export/export_command.h"
#include "import/links/router_plugin.h"
#include "import/links/stream_command.h"
#include "import/migrate/migrate_command.h"
#include "import/run/import_command.h"
#include "import/serve/import_service.h"
#include "import/sql/load_command.h"
#include "import/sync/sync_command.h"
#include "relay/census_plugin.h"
#include "relay/commands/admin_command.h"
#include "relay/commands/backup_command.h"
#include "relay/commands/check_command.h"
#include "relay/commands/compact_command.h"
#include "relay/commands/delete_command.h"
#include "relay/commands/health_command.h"
#include "relay/commands/info_command.h"
#include "relay/commands/relay_command.h"
#include "relay/commands/rules_command.h"
#include "relay/commands/scan_command.h"
#include "relay/commands/who_command.h"
#include "relay/doctor/doctor_command.h"
#include "relay/ladder_plugin.h"
#include "relay/limiters/gate_command.h"
#include "relay/limiters/quota/quota_command.h"
#include "relay/limiters/served_limiters.h"
#include "relay/limiters_plugin.h"
#include "relay/management_plugin.h"
#include "relay/process/version.h"
#include "relay/relay.h"
#include "relay/removal_plugin.h"
#include "relay/retention_plugin.h"
#include "relay/rules_plugin.h"
#include "relay/upkeep_plugin.h"
#include "relay/watch/live/live_plugin.h"
#include "relay/watch/top/top_command.h"

namespace weir {
namespace {

int Config(int argc, char** argv) {
  RelayConfiguration configuration;
  AllLimiterSettings limiters;
  SettingTable table;
  Declare(table, configuration);
  Declare(table, limiters);
  const int code = ConfigCommand(argc, argv, table, ProcessEnvironment(), std::cout, std::cerr);
  const Status checked = code == 0 ? Check(configuration) : Status();
  if (checked.ok()) return code;
  std::cerr << "weir config: " << checked.message() << "\n";
  return CommandLine::kWrong;
}

// Runs the relay with the plugins that build on it.
int RunRelay(int argc, char** argv) {
  ImportService import_service;
  LimitersPlugin limiters;
  RulesPlugin rules([&limiters] { return limiters.config_file(); });
  ManagementPlugin management;
  RemovalPlugin removals(management.methods());
  UpkeepPlugin upkeep(management.methods());
  LadderPlugin ladder(management.methods());
  RetentionPlugin retention;
  CensusPlugin census;
  RouterPlugin router(management.methods(), [&limiters] { return limiters.config_file(); });
  LivePlugin live;
  return RelayCommand(argc, argv,
                      {&import_service, &limiters, &rules, &management, &removals, &upkeep, &ladder, &retention,
                       &census, &router, &live});
}

int RunGate(int argc, char** argv) {
  RelayConfiguration relay;
  return GateCommand(argc, argv, [&relay](SettingTable& table) { Declare(table, relay); });
}

struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
  std::string_view meaning;
};

constexpr Command kCommands[] = {
    {"relay", RunRelay, "run the Nostr relay"},
    {"gate", RunGate, "serve quotas of LLM models, limits by key, endpoints and Envoy's rate limits, without a relay"},
    {"quota", QuotaCommand, "ask and administer the quotas of a gate, or of a store"},
    {"import", ImportCommand, "import events from files, no faster than the engine can take them"},
    {"export", ExportCommand, "write the stored events as JSON Lines, beside the relay or without it"},
    {"load", LoadCommand, "load SQL into a MariaDB with MyRocks, no faster than its RocksDB can take it"},
    {"sync", SyncCommand, "make the stored events and those of another relay equal (NIP-77)"},
    {"stream", StreamCommand, "pass new events on between the relay that runs and another one"},
    {"migrate", MigrateCommand, "copy the database of a data directory into a PostgreSQL database, and compare both"},
    {"scan", ScanCommand, "print stored events that match a filter, beside the relay or without it"},
    {"delete", DeleteCommand, "remove stored events that match a filter, through the relay or without it"},
    {"rules", RulesCommand, "check the rules about who may write and read, and say what they do to an event"},
    {"admin", AdminCommand, "manage a relay that runs: bans, allowed authors, kinds and addresses, roles, its name"},
    {"who", WhoCommand, "say what standing an author has with the relay that runs, and why"},
    {"info", InfoCommand,
     "say what takes the room: kinds, authors, tags, months, growth, and what a rule of age takes"},
    {"backup", BackupCommand, "copy the database into a directory, beside the relay or without it"},
    {"compact", CompactCommand, "rewrite the database without what was removed, beside the relay or without it"},
    {"check", CheckCommand, "check that the stored events and their index agree"},
    {"health", HealthCommand, "ask a relay or a gate that runs whether it can serve"},
    {"top", TopCommand, "show what a relay does and why, live, in a terminal"},
    {"doctor", DoctorCommand, "say what to change: settings, machine, database, and the running relay or gate"},
    {"config", Config, "print every setting: value, origin, unit, range, meaning"},
    {"advise", AdviseCommand, "say from the LOG of any RocksDB what stalled, why, what to set, and what weir would do"},
    {"simulate", SimulateCommand, "draw how a simulated engine responds under the gains of the environment"},
    {"completion", CompletionCommand, "print the script with which bash, zsh or fish completes these commands"},
};

void PrintUsage(std::FILE* out) {
  std::fputs(
      "usage: weir <command> [flags]; `weir <command> --help` lists its flags, `weir --version` prints the version\n\n",
      out);
  for (const Command& c : kCommands) {
    std::fprintf(out, "  %-11.*s %.*s\n", static_cast<int>(c.name.size()), c.name.data(),
                 static_cast<int>(c.meaning.size()), c.meaning.data());
  }
}

const Command* FindCommand(std::string_view name) {
  const auto* const found = std::ranges::find(kCommands, name, &Command::name);
  return found == std::end(kCommands) ? nullptr : found;
}

// Runs the command with "weir x" in argv[0].
int Run(const Command& command, int argc, char** argv) {
  std::string full_name = "weir " + std::string(command.name);
  argv[0] = full_name.data();
  return RunGuarded(argv[0], [&] { return command.run(argc, argv); });
}

// weir --complete WORD…: prints the words that may stand in the place of the last one.
int Complete(int argc, char** argv) {
  if (argc > 3) {
    const Command* command = FindCommand(argv[2]);
    if (command == nullptr) return CommandLine::kWrong;
    argv[2] = argv[1];
    return Run(*command, argc - 1, argv + 1);
  }
  const std::string_view begun = argc > 2 ? argv[2] : "";
  for (const Command& c : kCommands) PrintChoice(c.name, c.meaning, begun, std::cout);
  for (const char* flag : {"--help", "--version"})
    if (begun.starts_with('-')) PrintChoice(flag, "", begun, std::cout);
  return 0;
}

int Main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--version" || name == "-V" || name == "version") {
    std::printf("weir %s\n", std::string(Version()).c_str());
    return 0;
  }
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return 0;
  }
  if (name == kComplete) return Complete(argc, argv);
  if (const Command* command = FindCommand(name)) return Run(*command, argc - 1, argv + 1);
  if (name == "storm" || name == "demo") {
    std::fprintf(stderr, "weir: `weir %s` is `weir-bench %s` now; `make %s` builds and runs it\n", argv[1], argv[1],
                 argv[1]);
    return 2;
  }
  if (!name.empty()) std::fprintf(stderr, "weir: no command \"%s\"\n", argv[1]);
  PrintUsage(stderr);
  return 2;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
