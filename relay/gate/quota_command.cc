#include "relay/gate/quota_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "config/parse.h"
#include "relay/gate/count_tokens.h"
#include "relay/gate/gate_server.h"
#include "relay/gate/quota_table.h"
#include "relay/gate/quota_verbs.h"
#include "relay/gate/quota_watch.h"
#include "relay/json_writer.h"
#include "throttle/quota/migrate.h"

namespace weir {
namespace {

constexpr int kAllowed = 0;
constexpr int kRefused = 1;
constexpr int kWrong = 2;

constexpr const char* kMemoryIsGone = "memory is gone with this process; name a store that stays";

int Complain(const std::string& problem) {
  std::fprintf(stderr, "weir quota: %s\n", problem.c_str());
  return kWrong;
}

int Print(std::string_view text, int code) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? code : Complain("cannot write to standard output");
}

bool OnTerminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

// What the environment says of the gate, by which it or its store is found, and of who asks.
struct Settings {
  GateConfiguration gate;
  QuotaClientSettings client;
};

Result<Settings> LoadSettings() {
  Settings settings;
  SettingTable table;
  Declare(table, settings.gate);
  Declare(table, settings.client);
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  return settings;
}

std::string GateUrl(const QuotaFlags& flags, const Settings& settings) {
  if (flags.gate) return *flags.gate;
  if (!settings.client.gate.empty()) return settings.client.gate;
  return "http://127.0.0.1:" + std::to_string(settings.gate.server.port);
}

// WEIR_QUOTA_STORE=memory, the default, is a gate's own.
bool AsksGate(const QuotaFlags& flags, const Settings& settings) {
  if (flags.gate || flags.store) return flags.gate.has_value();
  return settings.gate.gate.store.store == "memory" || !settings.client.gate.empty();
}

// Whoever only looks, or ends what was begun, makes no store.
bool MayMakeStore(const QuotaFlags& flags, std::optional<QuotaRoute::Call> call) {
  using Call = QuotaRoute::Call;
  return call == Call::kReserve || call == Call::kRecord || call == Call::kSetQuota ||
         (call == Call::kDecide && flags.charge);
}

// --gate, --store, WEIR_GATE, WEIR_QUOTA_STORE, or the gate that is usual.
Result<std::unique_ptr<QuotaClient>> OpenClient(const QuotaFlags& flags, const Settings& settings,
                                                std::optional<QuotaRoute::Call> call) {
  if (AsksGate(flags, settings)) {
    const std::chrono::milliseconds timeout(static_cast<int64_t>(flags.timeout_seconds * 1000));
    return AskGate(GateUrl(flags, settings), settings.gate.admin.admin_token, timeout);
  }
  if (flags.store == "memory") return Status::Error(kMemoryIsGone);
  GateSettings gate = settings.gate.gate;
  if (flags.store) gate.store.store = *flags.store;
  return AskStore(gate, !MayMakeStore(flags, call));
}

TerminalSize SizeOfTerminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

// What is printed for a good answer; nothing where the answer is no good.
std::optional<std::string> Words(const QuotaFlags& flags, const QuotaVerb& verb, QuotaRoute::Call call,
                                 const HttpResponse& response) {
  using Call = QuotaRoute::Call;
  switch (call) {
    case Call::kCommit:
    case Call::kRefund:
      return SettledWords(response.body, verb.yes);
    case Call::kReset:
      return Printable(flags.model) + ": nothing is used, nothing is reserved\n";
    case Call::kResetAll:
      return "of all models nothing is used, nothing is reserved\n";
    case Call::kModels:
    case Call::kModel:
    case Call::kSetQuota:
    case Call::kUnsetQuota: {
      const Result<std::vector<ModelStats>> models = ReadModelsJson(response.body);
      if (!models.ok()) return std::nullopt;
      if (verb.name == "stats") {
        const WallTime now = WallClock::System().Now();
        if (!OnTerminal()) return UsageTable(models.value(), now, false);
        return UsageTable(models.value(), now, true, SizeOfTerminal().columns);
      }
      return QuotaTable(models.value());
    }
    default:
      return DecisionWords(response.body, flags.charge ? "allowed and counted" : verb.yes);
  }
}

// A decision's is the decision, whatever its status; an unknown reservation or model is a refusal too. Where the store
// is away nothing was decided, unless the policy is to allow then.
int CodeOf(const HttpResponse& response) {
  if (response.status == 503 || StoreIsAway(response.body)) return kWrong;
  if (const std::optional<bool> allowed = IsAllowed(response.body)) return *allowed ? kAllowed : kRefused;
  if (response.status >= 200 && response.status < 300) return kAllowed;
  return response.status == 404 && !ErrorMessage(response.body).empty() ? kRefused : kWrong;
}

std::string ProblemOf(const QuotaClient& client, const HttpResponse& response) {
  std::string message = ErrorMessage(response.body);
  if (message.empty()) {
    const std::string_view body = response.body;
    message = client.name() + " answers " + std::to_string(response.status);
    if (!body.empty()) message += ": " + Printable(TrimBlanks(body.substr(0, body.find('\n'))));
  } else if (response.status >= 500) {
    message = client.name() + ": " + message;
  }
  if (response.status == 401 || response.status == 403) message += "; is WEIR_ADMIN_TOKEN set to the gate's token?";
  return message;
}

// What `set` does not name stays as it is.
Status Complete(QuotaClient& client, QuotaFlags& flags) {
  if (flags.rpm && flags.tpm && flags.rpd) return {};
  const Result<HttpResponse> answer = client.Ask({.call = QuotaRoute::Call::kModel, .model = flags.model});
  if (!answer.ok()) return answer.status();
  ModelQuota quota;
  if (answer.value().status == 200) {
    const Result<std::vector<ModelStats>> models = ReadModelsJson(answer.value().body);
    if (!models.ok()) return Status::Error(client.name() + " does not answer as a gate does");
    quota = models.value().front().quota.value_or(quota);
  } else if (CodeOf(answer.value()) != kRefused) {
    return Status::Error(ProblemOf(client, answer.value()));
  }
  flags.rpm = flags.rpm.value_or(quota.max_rpm);
  flags.tpm = flags.tpm.value_or(quota.max_tpm);
  flags.rpd = flags.rpd.value_or(quota.max_rpd);
  return {};
}

// On the command line everybody on the machine can read it.
void ReadApiKey(QuotaFlags& flags, const Settings& settings) {
  if (flags.api_key.empty()) flags.api_key = settings.client.api_key;
  if (flags.api_key != "-") return;
  std::getline(std::cin, flags.api_key);
  flags.api_key = TrimBlanks(std::string(flags.api_key));
}

int AskAndPrint(QuotaFlags flags, const QuotaVerb& verb) {
  const Result<Settings> settings = LoadSettings();
  if (!settings.ok()) return Complain(settings.status().message());
  const QuotaRoute::Call call = verb.question(flags).call;
  const Result<std::unique_ptr<QuotaClient>> client = OpenClient(flags, settings.value(), call);
  if (!client.ok()) return Complain(client.status().message());
  ReadApiKey(flags, settings.value());
  if (call == QuotaRoute::Call::kSetQuota)
    if (const Status status = Complete(*client.value(), flags); !status.ok()) return Complain(status.message());
  const QuotaQuestion question = verb.question(flags);
  const Result<HttpResponse> answer = client.value()->Ask(question);
  if (!answer.ok()) return Complain(answer.status().message());
  const HttpResponse& response = answer.value();
  const int code = CodeOf(response);
  if (flags.json && !response.body.empty())
    return Print(response.body.ends_with('\n') ? response.body : response.body + "\n", code);
  const bool good = (response.status >= 200 && response.status < 300) || IsAllowed(response.body);
  if (!good) {
    Complain(ProblemOf(*client.value(), response));
    return code;
  }
  if (flags.json) return code;
  const std::optional<std::string> words = Words(flags, verb, question.call, response);
  if (!words) return Complain(client.value()->name() + " does not answer as a gate does");
  return Print(*words, code);
}

int Watch(const QuotaFlags& flags) {
  // Before the store starts threads.
  const Interrupts interrupts;
  const Result<Settings> settings = LoadSettings();
  if (!settings.ok()) return Complain(settings.status().message());
  const Result<std::unique_ptr<QuotaClient>> client = OpenClient(flags, settings.value(), std::nullopt);
  if (!client.ok()) return Complain(client.status().message());
  using Style = WatchParts::Style;
  bool written = true;
  const Status status = WatchQuotas(
      *client.value(), {.style = flags.json     ? Style::kJson
                                 : OnTerminal() ? Style::kTable
                                                : Style::kLines,
                        .times = flags.times,
                        .write = [&written](std::string_view text) { written = Print(text, kAllowed) == kAllowed; },
                        .complain = [](std::string_view problem) { Complain(std::string(problem)); },
                        .size = SizeOfTerminal,
                        .wait = [&] { return written && interrupts.Wait(FromSeconds(flags.interval_seconds)); }});
  if (!status.ok()) return Complain(status.message());
  return written ? kAllowed : kWrong;
}

Result<std::unique_ptr<QuotaStore>> OpenSide(const QuotaStoreSettings& settings, const std::string& name,
                                             bool must_exist) {
  if (name == "memory") return Status::Error(kMemoryIsGone);
  QuotaStoreSettings side = settings;
  side.store = name;
  return OpenQuotaStore(side, must_exist);
}

// The same name, or another one of the same file.
bool IsSameStore(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto path = [](const std::string& name) {
    const bool is_file = name.starts_with("yaml:") || name.starts_with("sqlite:");
    return is_file ? name.substr(name.find(':') + 1) : std::string();
  };
  std::error_code missing;
  return !path(a).empty() && !path(b).empty() && std::filesystem::equivalent(path(a), path(b), missing);
}

int Migrate(const QuotaFlags& flags) {
  QuotaStoreSettings settings;
  SettingTable table;
  Declare(table, settings);
  if (const Status status = table.Load(ProcessEnvironment()); !status.ok()) return Complain(status.message());
  if (IsSameStore(flags.from, flags.to)) return Complain(Printable(flags.from) + " cannot be migrated to itself");
  const auto from = OpenSide(settings, flags.from, true);
  if (!from.ok()) return Complain(from.status().message());
  const auto to = OpenSide(settings, flags.to, false);
  if (!to.ok()) return Complain(to.status().message());
  if (from.value()->name() == to.value()->name())
    return Complain(from.value()->name() + " cannot be migrated to itself");
  const Result<Migrated> migrated = MigrateQuotas(*from.value(), *to.value(), flags.force);
  if (!migrated.ok()) return Complain(migrated.status().message());
  const auto [quotas, models] = migrated.value();
  if (!flags.json) {
    return Print(from.value()->name() + " → " + to.value()->name() + ": " + std::to_string(quotas) +
                     " quotas, usage of " + std::to_string(models) + " models\n",
                 kAllowed);
  }
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("from").String(from.value()->name());
  json.Member("to").String(to.value()->name());
  json.Member("quotas").Number(quotas);
  json.Member("models").Number(models);
  return Print(std::move(json.Close('}')).Text(), kAllowed);
}

// One byte more than may be: whoever counts says that it is too much.
Result<std::string> TextOf(const QuotaFlags& flags, uint64_t most) {
  if (flags.text != "-") return flags.text;
  std::string text;
  char piece[16 << 10];
  while (text.size() <= most) {
    const ssize_t bytes = read(STDIN_FILENO, piece, sizeof piece);
    if (bytes < 0) return Status::Error(std::string("cannot read standard input: ") + std::strerror(errno));
    if (bytes == 0) break;
    text.append(piece, static_cast<size_t>(bytes));
  }
  return text;
}

int Count(const QuotaFlags& flags) {
  CountTokensSettings settings;
  SettingTable table;
  Declare(table, settings);
  if (const Status status = table.Load(ProcessEnvironment()); !status.ok()) return Complain(status.message());
  const Result<std::string> text = TextOf(flags, settings.max_text_bytes);
  if (!text.ok()) return Complain(text.status().message());
  const Result<int64_t> tokens = CountTokens(settings, flags.model, text.value());
  if (!tokens.ok()) return Complain(tokens.status().message());
  if (!flags.json) return Print(std::to_string(tokens.value()) + "\n", kAllowed);
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("model").String(flags.model);
  json.Member("tokens").Number(tokens.value());
  return Print(std::move(json.Close('}')).Text(), kAllowed);
}

int Run(const QuotaFlags& flags, const QuotaVerb& verb) {
  if (verb.question != nullptr) return AskAndPrint(flags, verb);
  if (verb.name == "watch") return Watch(flags);
  return verb.name == "migrate" ? Migrate(flags) : Count(flags);
}

void AddWhere(CLI::App& app, QuotaFlags& flags) {
  CLI::Option* gate =
      app.add_option("--gate", flags.gate,
                     "the gate to ask (default: WEIR_GATE, or http://127.0.0.1:" + std::to_string(kGatePort) +
                         ", or there the port WEIR_PORT)");
  app.add_option("--store", flags.store,
                 "instead of a gate: the store itself, in this process (default: WEIR_QUOTA_STORE, where it is set); "
                 "yaml:PATH, sqlite:PATH, redis://HOST:PORT")
      ->excludes(gate);
  app.add_option("--timeout", flags.timeout_seconds, "seconds for a gate to answer")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
}

CLI::App* Add(CLI::App& app, const QuotaVerb& verb, QuotaFlags& flags) {
  CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.meaning));
  verb.add(*sub, flags);
  if (verb.question != nullptr || verb.name == "watch") AddWhere(*sub, flags);
  sub->add_flag("--json", flags.json, "the answer as JSON, as it came");
  sub->footer(std::string(verb.footer));
  return sub;
}

}  // namespace

int QuotaCommand(int argc, char** argv) {
  CLI::App app(
      "Asks and administers the quotas of models: of a gate that runs, or of a store.\n"
      "`weir quota <verb> --help` tells a verb's flags, with examples.",
      argv[0]);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  weir quota decide gpt-4o 900\n"
      "  weir quota stats\n"
      "  weir quota --help\n"
      "\n"
      "Exit status: 0 allowed or done, 1 refused (or no such reservation or model), 2 wrong use, or could not ask,\n"
      "or the store is away.");
  QuotaFlags flags;
  const QuotaVerb* chosen = nullptr;
  for (const QuotaVerb& verb : QuotaVerbs()) {
    CLI::App* sub = Add(app, verb, flags);
    sub->parse_complete_callback([&chosen, &verb] { chosen = &verb; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kAllowed : kWrong;
  }
  return Run(flags, *chosen);
}

}  // namespace weir
