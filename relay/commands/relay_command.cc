#include "relay/commands/relay_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "config/command_line.h"
#include "monitors/memory_probe.h"
#include "relay/operator/orly_access.h"
#include "relay/process/logging.h"
#include "relay/process/serving.h"
#include "relay/process/version.h"
#include "relay/relay.h"
#include "relay/relay_plugin.h"

namespace weir {
namespace {

void AddTo(CommandLine& line, bool* take_over) {
  line.AddSetting("--port", "PORT", "port for WebSocket and HTTP, instead of WEIR_PORT; 0: any free one");
  line.AddSetting("--listen", "LISTEN", "address to listen on, instead of WEIR_LISTEN; 0.0.0.0 for all");
  line.AddSetting("--data-dir", "DATA_DIR", "where the events are kept, instead of WEIR_DATA_DIR");
  line.Add("--take-over", take_over,
           "ask the relay that has the data directory to stop, and go on in its place; clients reconnect");
  line.SetFooter(
      "Examples:\n"
      "  weir relay                                      ws://127.0.0.1:3334 over ./data\n"
      "  weir relay --port 7777 --data-dir /var/lib/weir\n"
      "  WEIR_RELAY_NAME=mine weir relay --listen 0.0.0.0\n"
      "  weir relay --take-over                          restart with a new program or new settings\n"
      "\n"
      "Settings come from the environment; `weir config` prints them all. SIGUSR1 writes a page about the program's\n"
      "state to the log. Ctrl-C stops it gracefully, a second Ctrl-C at once.\n"
      "Exit status: 0 stopped when it was told to, 1 could not run, 2 wrong flags or settings.");
}

const char* Describe(SyncMode mode) {
  switch (mode) {
    case SyncMode::kBatch:
      return "an acknowledged event is on disk";
    case SyncMode::kInterval:
      return "an acknowledged event is on disk a moment later";
    case SyncMode::kOff:
      return "an acknowledged event is on disk when the operating system writes it";
  }
  return "";
}

const char* DescribeAuth(const RelaySettings& settings) {
  if (settings.auth_required) return "AUTH required for everything";
  return settings.auth ? "AUTH for direct messages" : "no AUTH";
}

std::string DescribeStore(const StorageSettings& settings) {
  if (IsEmbedded(settings)) return Describe(settings.rocksdb.sync);
  return "events in " + StoreName(settings.store) + ", each committed before its OK";
}

void LogStart(const RelayConfiguration& c) {
  spdlog::info("weir {}, RocksDB {}, process {}", Version(), RocksDbVersion(), getpid());
  const auto target = ResolveMemoryTarget(c.storage.memory, MemoryProbe(), c.storage.limiter.emergency);
  spdlog::info("data directory {}, {}; memory target {} MiB; {}; throttle {}", c.data_dir, DescribeStore(c.storage),
               target.ok() ? target.value() >> 20 : 0, DescribeAuth(c.relay), c.storage.limiter.enabled ? "on" : "off");
  if (target.ok() && target.value() < c.storage.memory.target_memory_mb << 20) {
    spdlog::warn(
        "the memory target is {} MiB, not {} (WEIR_RATE_LIMIT_TARGET_MEMORY_MB): with more, the cgroup's limit would "
        "be "
        "reached before an emergency of memory begins, and the kernel would kill this relay; set it lower, or give the "
        "cgroup more",
        target.value() >> 20, c.storage.memory.target_memory_mb);
  }
}

int Run(const RelayConfiguration& configuration, bool take_over, std::vector<RelayPlugin*> plugins,
        const std::vector<std::string>& warnings) {
  StopSignals signals;
  SetUpLogging(configuration.log_level, configuration.log_format);
  signals.Listen();
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  LogStart(configuration);

  auto opened = Relay::Open(configuration, take_over, plugins);
  if (!opened.ok()) {
    spdlog::error("{}", opened.status().message());
    return 1;
  }
  Relay& relay = *opened.value();
  const auto hang_up = [&relay, plugins] {
    spdlog::info("SIGHUP: settings are read at start; restart to change them");
    relay.ReloadCertificate();
    for (RelayPlugin* plugin : plugins) plugin->HangUp();
  };
  const std::string address = relay.host_and_port();
  const std::string s = relay.speaks_tls() ? "s" : "";
  ServeUntilTold(std::move(opened).value(), signals,
                 {.url = "ws" + s + "://" + address,
                  .hint = "; a browser on http" + s + "://" + address + " shows how to connect",
                  .at_once = [&relay] { relay.ForceShutdown(); },
                  .hang_up = hang_up,
                  .tell = [&relay] { relay.TellState(); },
                  .closing = "closing the database; what was acknowledged is safe"});
  return 0;
}

}  // namespace

int RelayCommand(int argc, char** argv, std::vector<RelayPlugin*> plugins) {
  CommandLine line(argv[0], "Runs a Nostr relay until SIGINT or SIGTERM.");
  bool take_over = false;
  AddTo(line, &take_over);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const Environment environment = ProcessEnvironment();
  RelayConfiguration configuration;
  SettingTable table;
  for (RelayPlugin* plugin : plugins) plugin->Declare(table);
  const Status loaded = LoadRelayConfiguration(table, environment, line.settings(), &configuration);
  if (!loaded.ok()) return line.Fail(loaded);
  if (const Status tls = CheckTls(configuration.server.tls); !tls.ok()) return line.Fail(tls);
  std::vector<std::string> warnings = table.UnknownNames(environment);
  for (std::string& warning : WarnOfOrlyAccess(environment)) warnings.push_back(std::move(warning));
  const int code = Run(configuration, take_over, std::move(plugins), warnings);
  StopLogging();
  return code;
}

}  // namespace weir
