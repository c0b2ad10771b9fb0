#include "relay/gate/gate_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>

#include "relay/gate/count_tokens.h"
#include "relay/gate/gate_server.h"
#include "relay/logging.h"
#include "relay/relay.h"
#include "relay/service_notify.h"
#include "relay/stop_signals.h"
#include "relay/version.h"

namespace weir {
namespace {

// No decision takes longer than the slowest store.
constexpr std::chrono::seconds kLongestShutdown{10};

struct Flags {
  std::optional<std::string> port;
  std::optional<std::string> listen;
  std::optional<std::string> store;
  std::optional<std::string> config;
};

void AddTo(CLI::App& app, Flags& flags) {
  app.add_option("--port", flags.port, "port for HTTP, instead of WEIR_PORT; 0: any free one");
  app.add_option("--listen", flags.listen, "address to listen on, instead of WEIR_LISTEN; 0.0.0.0 for all");
  app.add_option("--store", flags.store,
                 "where the quotas are kept, instead of WEIR_QUOTA_STORE: memory, yaml:PATH, sqlite:PATH, "
                 "redis://HOST:PORT, redis-sentinel://HOST:PORT/MASTER, redis-cluster://HOST:PORT,…");
  app.add_option("--config", flags.config, "weir.yaml with quotas, tiers and policies, instead of WEIR_CONFIG");
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

Status Configure(const Flags& flags, const Environment& environment, GateConfiguration* configuration) {
  SettingTable table;
  Declare(table, *configuration);
  if (Status status = table.Load(environment); !status.ok()) return status;
  for (const auto& [flag, name, text] :
       {std::tuple("--port", "PORT", &flags.port), std::tuple("--listen", "LISTEN", &flags.listen),
        std::tuple("--store", "QUOTA_STORE", &flags.store), std::tuple("--config", "CONFIG", &flags.config)}) {
    if (!text->has_value()) continue;
    if (Status status = table.Set(name, **text, flag); !status.ok()) return status;
  }
  return ReadGateConfig(configuration->gate).status();
}

// An environment may be the relay's too.
void WarnOfUnknownSettings(const Environment& environment) {
  RelayConfiguration relay;
  GateSettings gate;
  GateAdminSettings admin;
  CountTokensSettings count_tokens;
  SettingTable table;
  Declare(table, relay);
  Declare(table, gate);
  Declare(table, admin);
  Declare(table, count_tokens);
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
  signals.BeginOrderly(at_once, [&server] { server.Reload(); });
  server.Accept();
  const std::string address = server.host_and_port();
  spdlog::info("listening on http://{}, where a browser or curl sees how to ask", address);
  NotifyService("READY=1\nSTATUS=listening on http://" + address);

  const char* signal = signals.Wait();
  spdlog::info("{}: stopping, for at most {} s; once more stops at once", signal, kLongestShutdown.count());
  NotifyService("STOPPING=1");
  server.Shutdown(kLongestShutdown);
  signals.BeginOrderly([] { spdlog::warn("closing the store"); });
  opened.value().reset();
  spdlog::info("stopped");
  return 0;
}

}  // namespace

int GateCommand(int argc, char** argv) {
  CLI::App app("Serves the quotas of LLM models over HTTP until SIGINT or SIGTERM.", argv[0]);
  Flags flags;
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
