#include "relay/limiters/gate_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "relay/limiters/gate_server.h"
#include "relay/limiters/served_limiters.h"
#include "relay/process/logging.h"
#include "relay/process/serving.h"
#include "relay/process/version.h"

namespace weir {
namespace {

void AddTo(CommandLine& line) {
  line.AddSetting("--port", "PORT", "port for HTTP, instead of WEIR_PORT; 0: any free one");
  line.AddSetting("--listen", "LISTEN", "address to listen on, instead of WEIR_LISTEN; 0.0.0.0 for all");
  line.AddSetting("--store", "QUOTA_STORE",
                  "where the quotas are kept, instead of WEIR_QUOTA_STORE: memory, yaml:PATH, sqlite:PATH, "
                  "redis://HOST:PORT, redis-sentinel://HOST:PORT/MASTER, redis-cluster://HOST:PORT,…");
  line.AddSetting("--config", "CONFIG",
                  "weir.yaml with quotas, tiers, policies, limits of keys and endpoints, instead of WEIR_CONFIG");
  line.AddSetting("--ratelimit-config", "RATELIMIT_CONFIG",
                  "directory with configuration files of envoyproxy/ratelimit, instead of WEIR_RATELIMIT_CONFIG");
  line.SetFooter(
      "Examples:\n"
      "  weir gate                                       http://127.0.0.1:3335, in memory, profiles of all providers\n"
      "  weir gate --store sqlite:/var/lib/weir/quota.db   shared by the gates of this machine\n"
      "  weir gate --store redis://10.0.0.5:6379 --config weir.yaml --listen 0.0.0.0\n"
      "  weir gate --ratelimit-config /etc/ratelimit/config  the limits of envoyproxy/ratelimit's files, for Envoy\n"
      "  WEIR_KEYED_STORE=redis://10.0.0.5:6379 weir gate  limits by key, shared with other machines\n"
      "  WEIR_TLS_CERT=full.pem WEIR_TLS_KEY=key.pem weir gate   https://127.0.0.1:3335\n"
      "\n"
      "  curl -X POST localhost:3335/v1/decide -d '{\"model\":\"gpt-4o\",\"tokens\":900}'\n"
      "  curl localhost:3335/rate/user-123\n"
      "\n"
      "Settings come from the environment; `weir config` prints them all. weir.yaml and the other files are read\n"
      "again when they change, and at SIGHUP. SIGUSR1 writes a page about the program's state to the log. Ctrl-C\n"
      "stops it gracefully, a second Ctrl-C at once.\n"
      "Exit status: 0 stopped when it was told to, 1 could not run, 2 wrong flags, settings or weir.yaml.");
}

Status Configure(const CommandLine& line, const Environment& environment, GateConfiguration* configuration) {
  SettingTable table;
  Declare(table, *configuration);
  if (Status status = table.Load(environment, line.settings()); !status.ok()) return status;
  if (Status status = CheckTls(configuration->server.tls); !status.ok()) return status;
  if (Status status = Check(configuration->trace); !status.ok()) return status;
  const std::vector<Status> wrong = Check(configuration->limiters);
  return wrong.empty() ? Status() : wrong.front();
}

// A gate and a relay may run with the same environment, so this does not warn of the relay's settings.
void WarnOfUnknownSettings(const Environment& environment, const DeclareSettings& declare_others) {
  AllLimiterSettings limiters;
  SettingTable table;
  Declare(table, limiters);
  if (declare_others) declare_others(table);
  for (const std::string& warning : table.UnknownNames(environment)) spdlog::warn("{}", warning);
}

int Run(const GateConfiguration& configuration, const Environment& environment, const DeclareSettings& declare_others) {
  StopSignals signals;
  SetUpLogging(configuration.log_level, configuration.log_format);
  signals.Listen();
  WarnOfUnknownSettings(environment, declare_others);
  spdlog::info("weir {}, process {}", Version(), getpid());

  auto opened = GateServer::Open(configuration);
  if (!opened.ok()) {
    spdlog::error("{}", opened.status().message());
    return 1;
  }
  GateServer& server = *opened.value();
  const auto at_once = [&server] {
    server.ForceShutdown();
    if (!server.all_is_in_store()) return;  // Shutdown still has to write counts to a store
    spdlog::warn("stopped at once");
    StopLogging();
    _exit(0);
  };
  ServeUntilTold(std::move(opened).value(), signals,
                 {.url = server.url(),
                  .hint = "; a browser or curl on it shows how to ask",
                  .at_once = at_once,
                  .hang_up = [&server] { server.Reload(); },
                  .tell = [&server] { server.TellState(); },
                  .closing = "closing the store"});
  return 0;
}

}  // namespace

int GateCommand(int argc, char** argv, const DeclareSettings& declare_others) {
  CommandLine line(
      argv[0],
      "Serves quotas of LLM models, limits by key, endpoints that queue and Envoy's rate limits over HTTP\n"
      "and gRPC until SIGINT or SIGTERM.");
  AddTo(line);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const Environment environment = ProcessEnvironment();
  GateConfiguration configuration;
  if (const Status status = Configure(line, environment, &configuration); !status.ok()) return line.Fail(status);
  const int code = Run(configuration, environment, declare_others);
  StopLogging();
  return code;
}

}  // namespace weir
