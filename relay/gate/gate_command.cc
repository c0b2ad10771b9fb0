#include "relay/gate/gate_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include "relay/gate/gate_server.h"
#include "relay/logging.h"
#include "relay/relay.h"
#include "relay/serving_command.h"
#include "relay/version.h"

namespace weir {
namespace {

void AddTo(CLI::App& app, SettingFlags& flags) {
  flags.Add(app, "--port", "PORT", "port for HTTP, instead of WEIR_PORT; 0: any free one");
  flags.Add(app, "--listen", "LISTEN", "address to listen on, instead of WEIR_LISTEN; 0.0.0.0 for all");
  flags.Add(app, "--store", "QUOTA_STORE",
            "where the quotas are kept, instead of WEIR_QUOTA_STORE: memory, yaml:PATH, sqlite:PATH, "
            "redis://HOST:PORT, redis-sentinel://HOST:PORT/MASTER, redis-cluster://HOST:PORT,…");
  flags.Add(app, "--config", "CONFIG", "weir.yaml with quotas, tiers and policies, instead of WEIR_CONFIG");
  app.footer(
      "Examples:\n"
      "  weir gate                                       http://127.0.0.1:3335, in memory, everybody's profiles\n"
      "  weir gate --store sqlite:/var/lib/weir/quota.db   shared by the gates of this machine\n"
      "  weir gate --store redis://10.0.0.5:6379 --config weir.yaml --listen 0.0.0.0\n"
      "\n"
      "  curl -X POST localhost:3335/v1/decide -d '{\"model\":\"gpt-4o\",\"tokens\":900}'\n"
      "\n"
      "Settings come from the environment; `weir config` prints them all. weir.yaml is read again when it changes, and "
      "at\n"
      "SIGHUP. Ctrl-C stops in order, a second one at once.\n"
      "Exit status: 0 stopped when it was told to, 1 could not run, 2 wrong flags, settings or weir.yaml.");
}

Status Configure(const SettingFlags& flags, const Environment& environment, GateConfiguration* configuration) {
  SettingTable table;
  Declare(table, *configuration);
  if (Status status = table.Load(environment); !status.ok()) return status;
  if (Status status = flags.Set(table); !status.ok()) return status;
  return ReadGateConfig(configuration->gate).status();
}

// An environment may be the relay's too.
void WarnOfUnknownSettings(const Environment& environment) {
  RelayConfiguration relay;
  AllQuotaSettings quotas;
  SettingTable table;
  Declare(table, relay);
  Declare(table, quotas);
  for (const std::string& warning : table.UnknownNames(environment)) spdlog::warn("{}", warning);
}

int Run(const GateConfiguration& configuration, const Environment& environment) {
  StopSignals signals;
  SetUpLogging(configuration.log_level, configuration.log_format);
  signals.Listen();
  WarnOfUnknownSettings(environment);
  spdlog::info("weir {}, process {}", Version(), getpid());

  auto opened = GateServer::Open(configuration);
  if (!opened.ok()) {
    spdlog::error("{}", opened.status().message());
    return 1;
  }
  GateServer& server = *opened.value();
  const auto at_once = [&server] {
    server.ForceShutdown();
    if (!server.all_is_in_store()) return;  // what was counted is being written down
    spdlog::warn("stopped at once");
    StopLogging();
    _exit(0);
  };
  ServeUntilTold(std::move(opened).value(), signals,
                 {.url = "http://" + server.host_and_port(),
                  .hint = ", where a browser or curl sees how to ask",
                  .at_once = at_once,
                  .hang_up = [&server] { server.Reload(); },
                  .closing = "closing the store"});
  return 0;
}

}  // namespace

int GateCommand(int argc, char** argv) {
  CLI::App app("Serves the quotas of LLM models over HTTP until SIGINT or SIGTERM.", argv[0]);
  SettingFlags flags;
  AddTo(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const Environment environment = ProcessEnvironment();
  GateConfiguration configuration;
  if (const Status status = Configure(flags, environment, &configuration); !status.ok()) {
    std::fprintf(stderr, "weir gate: %s\n", status.message().c_str());
    return 2;
  }
  const int code = Run(configuration, environment);
  StopLogging();
  return code;
}

}  // namespace weir
