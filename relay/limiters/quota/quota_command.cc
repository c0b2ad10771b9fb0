#include "relay/limiters/quota/quota_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/terminal_size.h"
#include "config/text/parse.h"
#include "relay/admin/admin.h"
#include "relay/limiters/gate_server.h"
#include "relay/limiters/quota/quota_output.h"
#include "relay/limiters/quota/quota_own_command.h"
#include "relay/limiters/quota/quota_table.h"
#include "relay/limiters/quota/quota_verbs.h"
#include "relay/limiters/quota/quota_watch.h"

namespace weir {
namespace {

bool OnTerminal() { return CanBeDrawnOn(STDOUT_FILENO); }

// The settings in the environment: those of the gate, which say where the gate or its store is, and those of the
// client.
struct Settings {
  GateConfiguration server;
  QuotaClientSettings client;
  std::string data_dir = "./data";  // the data directory of a relay, if a relay is asked instead of a gate
};

Result<Settings> LoadSettings() {
  Settings settings;
  SettingTable table;
  Declare(table, settings.server);
  Declare(table, settings.client);
  table.Add("DATA_DIR", &settings.data_dir, "where the relay's token is");
  if (Status status = table.Load(ProcessEnvironment()); !status.ok()) return status;
  return settings;
}

std::string ServerUrlOf(const QuotaFlags& flags, const Settings& settings) {
  if (flags.gate) return *flags.gate;
  if (!settings.client.gate.empty()) return settings.client.gate;
  return "http://127.0.0.1:" + std::to_string(settings.server.server.port);
}

// Returns WEIR_ADMIN_TOKEN, or the token that a relay on this machine has written into its data directory.
Result<std::string> TokenFor(const std::string& url, const Settings& settings) {
  if (!settings.server.admin.admin_token.empty()) return settings.server.admin.admin_token;
  return FindAdminTokenFor(url, settings.data_dir);
}

// Returns true if the command asks a server, false if it opens a store. It cannot open the store `memory`, the default,
// because that is in a gate's own memory.
bool AsksServer(const QuotaFlags& flags, const Settings& settings) {
  if (flags.gate || flags.store) return flags.gate.has_value();
  return settings.server.limiters.quota.store.store == "memory" || !settings.client.gate.empty();
}

// Returns true if the call may create a store. Calls that only read, or that settle a reservation, do not create one.
bool MayMakeStore(const QuotaFlags& flags, std::optional<QuotaRoute::Call> call) {
  using Call = QuotaRoute::Call;
  return call == Call::kReserve || call == Call::kRecord || call == Call::kSetQuota ||
         (call == Call::kDecide && flags.body.charge.value_or(false));
}

// Makes a client of the gate or store that --gate, --store, WEIR_GATE or WEIR_QUOTA_STORE names, else of the gate on
// WEIR_PORT of this machine.
Result<std::unique_ptr<QuotaClient>> OpenClient(const QuotaFlags& flags, const Settings& settings,
                                                std::optional<QuotaRoute::Call> call) {
  if (AsksServer(flags, settings)) {
    const std::chrono::milliseconds timeout(static_cast<int64_t>(flags.timeout_seconds * 1000));
    const std::string url = ServerUrlOf(flags, settings);
    const Result<std::string> token = TokenFor(url, settings);
    return AskServer(url, token.ok() ? token.value() : "", timeout);
  }
  if (flags.store == "memory") return Status::Error(kMemoryIsGone);
  QuotaSettings gate = settings.server.limiters.quota;
  if (flags.store) gate.store.store = *flags.store;
  return AskStore(gate, !MayMakeStore(flags, call));
}

// Returns the text that is printed for a successful answer; nullopt if the answer is an error.
std::optional<std::string> Words(const QuotaFlags& flags, const QuotaVerb& verb, QuotaRoute::Call call,
                                 const HttpResponse& response) {
  using Call = QuotaRoute::Call;
  switch (call) {
    case Call::kCommit:
    case Call::kRefund:
    case Call::kExtend:
      return SettledWords(response.body, verb.yes);
    case Call::kReset:
      return Printable(flags.model()) + ": nothing is used, nothing is reserved\n";
    case Call::kResetAll:
      return "no model has usage or reservations\n";
    case Call::kModels:
    case Call::kModel:
    case Call::kSetQuota:
    case Call::kUnsetQuota: {
      const Result<std::vector<ModelStats>> models = ReadModelsJson(response.body);
      if (!models.ok()) return std::nullopt;
      if (verb.name == "stats") {
        const WallTime now = WallClock::System().Now();
        if (!OnTerminal()) return UsageTable(models.value(), now, false);
        return UsageTable(models.value(), now, true, SizeOfTerminal(STDOUT_FILENO).columns);
      }
      return QuotaTable(models.value());
    }
    default:
      return DecisionWords(response.body, flags.body.charge.value_or(false) ? "allowed and counted" : verb.yes);
  }
}

// Returns the exit code. If the answer is a decision, the code is kExitAllowed or kExitRefused, whatever the status is;
// but if a request is refused only because the store does not answer, it is kExitWrong. An unknown model, and a
// reservation that is unknown or has ended, count as refusals.
int CodeOf(const HttpResponse& response) {
  if (response.status == 503 || StoreIsAway(response.body)) return kExitWrong;
  if (const std::optional<bool> allowed = IsAllowed(response.body)) return *allowed ? kExitAllowed : kExitRefused;
  if (response.status >= 200 && response.status < 300) return kExitAllowed;
  return (response.status == 404 || response.status == 409) && !ErrorMessage(response.body).empty() ? kExitRefused
                                                                                                    : kExitWrong;
}

// Returns advice on the token, for an administrator whose call was refused with this status: 401 if the server has a
// token, 403 if it is a gate that has none.
std::string AdviceOnToken(const QuotaClient& client, const Settings& settings, int status) {
  const Result<std::string> token = TokenFor(client.name(), settings);
  const std::string advice = status == 401
                                 ? "; is WEIR_ADMIN_TOKEN set to the gate's token?"
                                 : ". Start the gate with WEIR_ADMIN_TOKEN, and set the same token for `weir quota`.";
  return token.ok() ? advice : advice + " If it is a relay: " + token.status().message();
}

std::string ProblemOf(const QuotaClient& client, const Settings& settings, const HttpResponse& response) {
  std::string message = ErrorMessage(response.body);
  if (message.empty()) {
    const std::string_view body = response.body;
    message = client.name() + " answers " + std::to_string(response.status);
    if (!body.empty()) message += ": " + Printable(TrimBlanks(body.substr(0, body.find('\n'))));
  } else if (response.status >= 500) {
    message = client.name() + ": " + message;
  }
  if (response.status != 401 && response.status != 403) return message;
  const size_t ways = message.find("; " + std::string(kWaysToBeAdmin));
  if (ways == message.npos) return message;
  message.resize(ways);  // the command can use none of the other ways that the message lists
  return message + AdviceOnToken(client, settings, response.status);
}

// Asks for the model's present limits, and fills in those that the arguments of `set` leave out.
Status Complete(QuotaClient& client, const Settings& settings, QuotaFlags& flags) {
  QuotaCallBody& limits = flags.body;
  if (limits.max_rpm && limits.max_tpm && limits.max_rpd) return {};
  const Result<HttpResponse> answer = client.Ask({.call = QuotaRoute::Call::kModel, .model = flags.model()});
  if (!answer.ok()) return answer.status();
  ModelQuota quota;
  if (answer.value().status == 200) {
    const Result<std::vector<ModelStats>> models = ReadModelsJson(answer.value().body);
    if (!models.ok()) return Status::Error(client.name() + " does not answer as a gate does");
    quota = models.value().front().quota.value_or(quota);
  } else if (CodeOf(answer.value()) != kExitRefused) {
    return Status::Error(ProblemOf(client, settings, answer.value()));
  }
  limits.max_rpm = limits.max_rpm.value_or(quota.max_rpm);
  limits.max_tpm = limits.max_tpm.value_or(quota.max_tpm);
  limits.max_rpd = limits.max_rpd.value_or(quota.max_rpd);
  return {};
}

// If the arguments have no API key, takes it from the environment. If the key is "-", reads it from standard input:
// every user of the machine could read a key on the command line.
void ReadApiKey(QuotaFlags& flags, const Settings& settings) {
  std::optional<std::string>& key = flags.body.api_key;
  if (!key || key->empty()) key = settings.client.api_key;
  if (*key != "-") return;
  std::getline(std::cin, *key);
  *key = TrimBlanks(std::string(*key));
}

int AskAndPrint(QuotaFlags flags, const QuotaVerb& verb) {
  const Result<Settings> settings = LoadSettings();
  if (!settings.ok()) return Complain(settings.status().message());
  const QuotaRoute::Call call = verb.Question(flags).call;
  const Result<std::unique_ptr<QuotaClient>> client = OpenClient(flags, settings.value(), call);
  if (!client.ok()) return Complain(client.status().message());
  ReadApiKey(flags, settings.value());
  if (call == QuotaRoute::Call::kSetQuota)
    if (const Status status = Complete(*client.value(), settings.value(), flags); !status.ok())
      return Complain(status.message());
  const QuotaQuestion question = verb.Question(flags);
  const Result<HttpResponse> answer = AskForAll(*client.value(), question);
  if (!answer.ok()) return Complain(answer.status().message());
  const HttpResponse& response = answer.value();
  const int code = CodeOf(response);
  if (flags.json && !response.body.empty())
    return Print(response.body.ends_with('\n') ? response.body : response.body + "\n", code);
  const bool good = (response.status >= 200 && response.status < 300) || IsAllowed(response.body);
  if (!good) {
    Complain(ProblemOf(*client.value(), settings.value(), response));
    return code;
  }
  if (flags.json) return code;
  const std::optional<std::string> words = Words(flags, verb, question.call, response);
  if (!words) return Complain(client.value()->name() + " does not answer as a gate does");
  return Print(*words, code);
}

int Watch(const QuotaFlags& flags) {
  // Made before the store starts its threads, so that the signals are blocked in them too.
  const Interrupts interrupts;
  const Result<Settings> settings = LoadSettings();
  if (!settings.ok()) return Complain(settings.status().message());
  const Result<std::unique_ptr<QuotaClient>> client = OpenClient(flags, settings.value(), std::nullopt);
  if (!client.ok()) return Complain(client.status().message());
  using Style = WatchParts::Style;
  bool written = true;
  const Status status =
      WatchQuotas(*client.value(),
                  {.style = flags.json     ? Style::kJson
                            : OnTerminal() ? Style::kTable
                                           : Style::kLines,
                   .times = flags.times,
                   .write = [&written](std::string_view text) { written = Print(text, kExitAllowed) == kExitAllowed; },
                   .complain = [](std::string_view problem) { Complain(std::string(problem)); },
                   .size = [] { return SizeOfTerminal(STDOUT_FILENO); },
                   .wait = [&] { return written && interrupts.Wait(FromSeconds(flags.interval_seconds)); }});
  if (!status.ok()) return Complain(status.message());
  return written ? kExitAllowed : kExitWrong;
}

int Run(const QuotaFlags& flags, const QuotaVerb& verb) {
  if (verb.call) return AskAndPrint(flags, verb);
  if (verb.name == "watch") return Watch(flags);
  return verb.name == "migrate" ? MigrateCommand(flags) : CountCommand(flags);
}

int ComplainOfVerb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const QuotaVerb& verb : QuotaVerbs()) names.push_back(verb.name);
  const std::string_view nearest = NearestName(word, names);
  const std::string which = nearest.empty() ? "there are " + Join({names.begin(), names.end()}, ", ")
                                            : "did you mean " + std::string(nearest) + "?";
  return Complain("there is no verb \"" + Printable(word) + "\"; " + which);
}

void AddWhere(CommandLine& line, QuotaFlags& flags) {
  line.Add("--gate", &flags.gate,
           "the gate to ask (default: WEIR_GATE, else http://127.0.0.1:" + std::to_string(kGatePort) +
               ", or that address with the port WEIR_PORT)");
  line.Add("--store", &flags.store,
           "the store to open in this process, instead of a gate (default: WEIR_QUOTA_STORE, if it is set); yaml:PATH, "
           "sqlite:PATH, redis://HOST:PORT")
      .Excludes("--gate");
  line.Add("--timeout", &flags.timeout_seconds, "seconds for a gate to answer").Within(0.001, 3600.0).ShowDefault();
}

void Add(const QuotaVerb& verb, CommandLine line, QuotaFlags& flags) {
  verb.AddTo(line, flags);
  if (verb.call || verb.name == "watch") AddWhere(line, flags);
  line.Add("--json", &flags.json, "print the answer as JSON, unchanged");
  line.SetFooter(std::string(verb.footer));
}

const QuotaVerb* FindVerb(std::string_view name) {
  const auto found = std::ranges::find(QuotaVerbs(), name, &QuotaVerb::name);
  return found == QuotaVerbs().end() ? nullptr : &*found;
}

}  // namespace

int QuotaCommand(int argc, char** argv) {
  CommandLine line(argv[0],
                   "Asks and administers the quotas of models, of a running gate or of a store.\n"
                   "`weir quota <verb> --help` lists a verb's flags, with examples.");
  line.SetFooter(
      "Examples:\n"
      "  weir quota decide gpt-4o 900\n"
      "  weir quota stats\n"
      "  weir quota --help\n"
      "\n"
      "Exit status: 0 allowed or done, 1 refused (or no such reservation or model), 2 wrong use, or could not ask,\n"
      "or the store is away.");
  QuotaFlags flags;
  for (const QuotaVerb& verb : QuotaVerbs())
    Add(verb, line.AddSubcommand(std::string(verb.name), std::string(verb.meaning)), flags);
  const std::string_view word = argc > 1 ? argv[1] : "-";
  if (!word.starts_with('-') && FindVerb(word) == nullptr) return ComplainOfVerb(word);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  return Run(flags, *FindVerb(line.subcommand()));
}

}  // namespace weir
