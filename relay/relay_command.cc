#include "relay/relay_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include "monitors/memory_probe.h"
#include "relay/logging.h"
#include "relay/relay.h"
#include "relay/relay_part.h"
#include "relay/serving_command.h"
#include "relay/version.h"

namespace weir {
namespace {

struct Flags {
  SettingFlags settings;
  bool take_over = false;
};

void AddTo(CLI::App& app, Flags& flags) {
  flags.settings.Add(app, "--port", "PORT", "port for WebSocket and HTTP, instead of WEIR_PORT; 0: any free one");
  flags.settings.Add(app, "--listen", "LISTEN", "address to listen on, instead of WEIR_LISTEN; 0.0.0.0 for all");
  flags.settings.Add(app, "--data-dir", "DATA_DIR", "where the events are kept, instead of WEIR_DATA_DIR");
  app.add_flag("--take-over", flags.take_over,
               "ask the relay that has the data directory to stop, and go on in its place; clients reconnect");
  app.footer(
      "Examples:\n"
      "  weir relay                                      ws://127.0.0.1:3334 over ./data\n"
      "  weir relay --port 7777 --data-dir /var/lib/weir\n"
      "  WEIR_RELAY_NAME=mine weir relay --listen 0.0.0.0\n"
      "  weir relay --take-over                          restart with a new program or new settings\n"
      "\n"
      "Settings come from the environment; `weir config` prints them all. Ctrl-C stops in order, a second one at "
      "once.\n"
      "Exit status: 0 stopped when it was told to, 1 could not run, 2 wrong flags or settings.");
}

Status Configure(const Flags& flags, const Environment& environment, RelayConfiguration* configuration) {
  if (Status status = LoadRelayConfiguration(environment, configuration); !status.ok()) return status;
  SettingTable table;
  Declare(table, *configuration);
  if (Status status = flags.settings.Set(table); !status.ok()) return status;
  return Check(*configuration);
}

Status ConfigureParts(const std::vector<RelayPart*>& parts, const Environment& environment) {
  SettingTable table;
  for (RelayPart* part : parts) part->Declare(table);
  return table.Load(environment);
}

void WarnOfUnknownSettings(const std::vector<RelayPart*>& parts, const Environment& environment) {
  RelayConfiguration defaults;
  SettingTable table;
  Declare(table, defaults);
  for (RelayPart* part : parts) part->Declare(table);
  for (const std::string& warning : table.UnknownNames(environment)) spdlog::warn("{}", warning);
}

const char* Describe(SyncMode mode) {
  switch (mode) {
    case SyncMode::kBatch:
      return "an OK means on disk";
    case SyncMode::kInterval:
      return "an OK is on disk a moment later";
    case SyncMode::kOff:
      return "an OK is on disk when the system likes";
  }
  return "";
}

const char* DescribeAuth(const RelaySettings& settings) {
  if (settings.auth_required) return "AUTH required for everything";
  return settings.auth ? "AUTH for direct messages" : "no AUTH";
}

void LogStart(const RelayConfiguration& c) {
  spdlog::info("weir {}, RocksDB {}, process {}", Version(), RocksDbVersion(), getpid());
  const auto target = ResolveMemoryTarget(c.memory, MemoryProbe());
  spdlog::info("data directory {}, {}; memory target {} MiB; {}; throttle {}", c.data_dir, Describe(c.store.sync),
               target.ok() ? target.value() >> 20 : 0, DescribeAuth(c.relay), c.limiter.enabled ? "on" : "off");
}

int Run(const RelayConfiguration& configuration, bool take_over, std::vector<RelayPart*> parts,
        const Environment& environment) {
  StopSignals signals;
  SetUpLogging(configuration.log_level, configuration.log_format);
  signals.Listen();
  WarnOfUnknownSettings(parts, environment);
  LogStart(configuration);

  const auto hang_up = [parts] {
    spdlog::info("SIGHUP: settings are read at start; restart to change them");
    for (RelayPart* part : parts) part->HangUp();
  };
  auto opened = Relay::Open(configuration, take_over, std::move(parts));
  if (!opened.ok()) {
    spdlog::error("{}", opened.status().message());
    return 1;
  }
  Relay& relay = *opened.value();
  const std::string address = relay.host_and_port();
  ServeUntilTold(std::move(opened).value(), signals,
                 {.url = "ws://" + address,
                  .hint = "; a browser on http://" + address + " shows how to connect",
                  .at_once = [&relay] { relay.ForceShutdown(); },
                  .hang_up = hang_up,
                  .closing = "closing the database; what was acknowledged is safe"});
  return 0;
}

}  // namespace

int RelayCommand(int argc, char** argv, std::vector<RelayPart*> parts) {
  CLI::App app("Runs a Nostr relay until SIGINT or SIGTERM.", argv[0]);
  Flags flags;
  AddTo(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const Environment environment = ProcessEnvironment();
  RelayConfiguration configuration;
  Status status = Configure(flags, environment, &configuration);
  if (status.ok()) status = ConfigureParts(parts, environment);
  if (!status.ok()) {
    std::fprintf(stderr, "weir relay: %s\n", status.message().c_str());
    return 2;
  }
  const int code = Run(configuration, flags.take_over, std::move(parts), environment);
  StopLogging();
  return code;
}

}  // namespace weir
