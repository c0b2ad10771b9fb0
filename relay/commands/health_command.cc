#include "relay/commands/health_command.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "config/command_line.h"
#include "config/settings.h"
#include "config/text/readable.h"
#include "config/text/url.h"
#include "config/wire/http/http_connection.h"
#include "relay/net/server_settings.h"
#include "relay/process/http_error_words.h"

namespace weir {
namespace {

// A relay that takes longer serves no client well.
constexpr std::chrono::milliseconds kPatience{3000};

}  // namespace

int HealthCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Asks a relay or a gate that runs whether it can serve, and prints its answer: for the health checks "
      "of\ncontainers and supervisors.");
  std::string url;
  line.Add("url", &url, "http://HOST:PORT or https://HOST:PORT, instead of what WEIR_LISTEN and WEIR_PORT say");
  line.AddSetting("--port", "PORT", "port of it on this machine, instead of WEIR_PORT");
  line.SetFooter(
      "Examples:\n"
      "  weir health                         the relay of this machine, by the settings that it has\n"
      "  weir health --port 3335             the gate\n"
      "  weir health https://relay.example   by its public name, with its certificate\n"
      "\n"
      "Exit status: 0 it can serve, 1 it cannot or nobody answers, 2 wrong flags or settings.");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  ServerSettings server;
  SettingTable table;
  Declare(table, server);
  if (const Status status = table.Load(ProcessEnvironment(), line.settings()); !status.ok()) return line.Fail(status);
  const Result<ServerUrl> where = ParseServerUrl(url.empty() ? OwnUrl(server) : url);
  if (!where.ok()) return line.Fail(where.status());

  const HttpAnswer answer = CallHttp(where.value(), {.path = "/readyz", .timeout = kPatience});
  if (!answer.ok()) return line.Fail(Status::Error(answer.problem), 1);
  const std::string says = AsText(ErrorWordsIn(answer.body));
  if (answer.status != 200) return line.Fail(Status::Error(where.value().Origin() + " cannot serve: " + says), 1);
  std::printf("%s\n", says.c_str());
  return 0;
}

}  // namespace weir
