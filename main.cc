// weir <command> …: only picks the command.
//
// A command is a function int XCommand(int argc, char** argv) that stands in the room that does the work and parses its
// own flags (with CLI11, in its .cc only); argv[0] is "weir x". It returns the exit code: 0, 1 if the work failed, 2 if
// it was asked for something wrong. `weir config` knows what the relay's configuration declares, and the quotas': all
// rooms' settings.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "bench/demo/demo_command.h"
#include "bench/simulator/simulate_command.h"
#include "bench/storm/storm_command.h"
#include "config/config_command.h"
#include "import/export_command.h"
#include "import/import_command.h"
#include "import/import_service.h"
#include "relay/check_command.h"
#include "relay/gate/gate_command.h"
#include "relay/gate/gate_part.h"
#include "relay/gate/gate_settings.h"
#include "relay/gate/quota_command.h"
#include "relay/relay.h"
#include "relay/relay_command.h"
#include "relay/scan_command.h"

namespace weir {
namespace {

int Config(int argc, char** argv) {
  RelayConfiguration configuration;
  AllQuotaSettings quotas;
  SettingTable table;
  Declare(table, configuration);
  Declare(table, quotas);
  const int code = ConfigCommand(argc, argv, table, ProcessEnvironment(), std::cout, std::cerr);
  // What single ranges cannot say.
  RelayConfiguration checked;
  const Status status = code == 0 ? LoadRelayConfiguration(ProcessEnvironment(), &checked) : Status();
  if (status.ok()) return code;
  std::cerr << "weir config: " << status.message() << "\n";
  return 2;
}

// With what stands above the relay's room.
int RunRelay(int argc, char** argv) {
  ImportService import_service;
  GatePart gate;
  return RelayCommand(argc, argv, {&import_service, &gate});
}

struct Command {
  std::string_view name;
  int (*run)(int argc, char** argv);
  std::string_view meaning;
};

constexpr Command kCommands[] = {
    {"relay", RunRelay, "run the Nostr relay"},
    {"gate", GateCommand, "serve the quotas of LLM models over HTTP, without a relay"},
    {"quota", QuotaCommand, "ask and administer the quotas of a gate, or of a store"},
    {"import", ImportCommand, "take events from files, at the pace that the engine stands"},
    {"export", ExportCommand, "write the stored events as JSON Lines, beside the relay or without it"},
    {"scan", ScanCommand, "print stored events that match a filter, beside the relay or without it"},
    {"check", CheckCommand, "check that the stored events and their index agree"},
    {"config", Config, "print every setting: value, origin, unit, range, meaning"},
    {"demo", DemoCommand, "overload a RocksDB in a temporary directory, without and with the throttle"},
    {"storm", StormCommand, "measure the throttle against what RocksDB offers: latency, bulk rate, stalls"},
    {"simulate", SimulateCommand, "draw how a simulated engine responds under the gains of the environment"},
};

void PrintUsage(std::FILE* out) {
  std::fputs("usage: weir <command> [flags]; `weir <command> --help` tells its flags\n\n", out);
  for (const Command& c : kCommands) {
    std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(c.name.size()), c.name.data(),
                 static_cast<int>(c.meaning.size()), c.meaning.data());
  }
}

int Main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help") {
    PrintUsage(stdout);
    return 0;
  }
  for (const Command& c : kCommands) {
    if (c.name != name) continue;
    std::string full_name = "weir " + std::string(name);
    argv[1] = full_name.data();
    return c.run(argc - 1, argv + 1);
  }
  if (!name.empty()) std::fprintf(stderr, "weir: no command \"%s\"\n", argv[1]);
  PrintUsage(stderr);
  return 2;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
