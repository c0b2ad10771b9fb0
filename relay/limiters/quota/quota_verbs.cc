#include "relay/limiters/quota/quota_verbs.h"

#include <algorithm>
#include <utility>

#include "config/text/json_writer.h"
#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using Argument = QuotaArgument;
using Body = QuotaCallBody;
using Flags = QuotaFlags;

constexpr Argument kModel{"MODEL", &Body::model, "its name", true};
constexpr Argument kOnlyModel{"MODEL", &Body::model, "only this one"};
constexpr Argument kModelOrAll{"MODEL", &Body::model, "its name"};
constexpr Argument kEstimate{"TOKENS", &Body::tokens, "the estimate: prompt and output together", true};
constexpr Argument kUser{"--user", &Body::user, "the user"};
constexpr Argument kTenant{"--tenant", &Body::tenant, "the tenant of the user"};
constexpr Argument kApiKey{"--api-key", &Body::api_key,
                           "the API key; - reads it from the first line of standard input (default: "
                           "WEIR_QUOTA_API_KEY)"};
constexpr Argument kInstance{"--instance", &Body::instance, "the GPU instance that serves the request"};
constexpr Argument kQos{"--qos", &Body::qos,
                        "the class of service: premium, standard, free, or those of the configuration"};
constexpr Argument kCharge{"--charge", &Body::charge, "count the request if it is allowed"};
constexpr Argument kKey{"--idempotency-key", &Body::idempotency_key,
                        "key of this request: if the request is sent again with this key, it counts once"};
constexpr Argument kPartial{"--partial", &Body::partial,
                            "the call is not over: the tokens are its total so far, and the reservation stays open for "
                            "longer"};
constexpr Argument kTimeToLive{"--ttl", &Body::ttl_seconds,
                               "seconds after which the reservation is given back, unless it is settled or extended "
                               "before (default: the configuration's, or 600)"};
constexpr Argument kMoreTime{"--ttl", &Body::ttl_seconds,
                             "seconds that the reservation has from now (default: the configuration's, or 600)"};
constexpr Argument kPartialTime{"--ttl", &Body::ttl_seconds,
                                "with --partial: seconds that the reservation has from now"};
constexpr Argument kReservation{"RESERVATION", &Body::reservation, "the reservation's id, from the answer of reserve",
                                true};
constexpr Argument kPrompt{"PROMPT", &Body::prompt_tokens, "the prompt's tokens", true};
constexpr Argument kOutput{"OUTPUT", &Body::output_tokens, "the output's tokens", true};
constexpr Argument kUsed{"TOKENS", &Body::tokens, "the tokens used"};
constexpr Argument kPromptUsed{"--prompt", &Body::prompt_tokens, "instead of TOKENS: the prompt's tokens"};
constexpr Argument kOutputUsed{"--output", &Body::output_tokens, "and the output's tokens"};
constexpr Argument kRpm{"--rpm", &Body::max_rpm, "requests in any minute"};
constexpr Argument kTpm{"--tpm", &Body::max_tpm, "tokens in any minute"};
constexpr Argument kRpd{"--rpd", &Body::max_rpd, "requests in the 24 hours from the first of them"};

void CheckCommit(CommandLine& line, Flags& flags) {
  line.Find("--prompt").Excludes("TOKENS");
  line.Find("--output").Excludes("TOKENS");
  line.Check([&body = flags.body] {
    return body.tokens || body.prompt_tokens || body.output_tokens
               ? Status()
               : Status::Error("TOKENS: the tokens used are missing: give TOKENS, or --prompt and --output");
  });
}

void CheckSet(CommandLine& line, Flags& flags) {
  line.Check([&body = flags.body] {
    const bool has_limit = body.max_rpm || body.max_tpm || body.max_rpd;
    return has_limit ? Status() : Status::Error("set: the limit is missing: --rpm, --tpm or --rpd");
  });
}

void AddAll(CommandLine& line, Flags& flags) {
  line.Add("--all", &flags.all, "all models").Excludes("MODEL");
  line.Check([&flags] {
    return flags.all || !flags.model().empty() ? Status() : Status::Error("reset: name a MODEL, or say --all");
  });
}

void AddStores(CommandLine& line, Flags& flags) {
  line.Add("FROM", &flags.from, "the store to copy: yaml:PATH, sqlite:PATH, redis://HOST:PORT").Required();
  line.Add("TO", &flags.to, "the other store; its content is replaced").Required();
  line.Add("--force", &flags.force, "copy even if FROM is empty, which empties TO");
}

void AddTimes(CommandLine& line, Flags& flags) {
  line.Add("--interval", &flags.interval_seconds, "seconds between two looks").Within(0.1, 3600.0).ShowDefault();
  line.Add("--times", &flags.times, "stop after this many looks").Within(uint64_t{1}, uint64_t{1} << 62);
}

void AddText(CommandLine& line, Flags& flags) {
  line.Add("TEXT", &flags.text, "the text; - is standard input").ShowDefault();
}

constexpr QuotaVerb kVerbs[] = {
    {.name = "decide",
     .meaning = "tells whether a request would be allowed now; counts nothing",
     .footer = "Other requests may be allowed between this call and a later record. Use reserve to rule that out.\n"
               "\n"
               "Examples:\n"
               "  weir quota decide gpt-4o 900\n"
               "  weir quota decide gpt-4o 900 --charge && call-the-model\n"
               "  weir quota decide gpt-4o 900 --user alice --qos premium --json",
     .arguments = {&kModel, &kEstimate, &kUser, &kTenant, &kApiKey, &kInstance, &kQos, &kCharge, &kKey},
     .call = Call::kDecide,
     .yes = "allowed"},
    {.name = "reserve",
     .meaning = "takes the estimate before the call",
     .footer = "Commit or refund the reservation; one that is not settled is given back after its time to live.\n"
               "\n"
               "Examples:\n"
               "  weir quota reserve gpt-4o 900\n"
               "  id=$(weir quota reserve gpt-4o 900 --ttl 30 --json | jq -r .reservation)\n"
               "  weir quota commit \"$id\" --prompt 412 --output 301",
     .arguments = {&kModel, &kEstimate, &kUser, &kTenant, &kApiKey, &kInstance, &kQos, &kTimeToLive, &kKey},
     .call = Call::kReserve,
     .yes = "reserved"},
    {.name = "commit",
     .meaning = "settles a reservation by what was really used",
     .footer = "If less was used than reserved, the rest is free at once; if more, it is counted, whatever the\n"
               "limits. After the time to live, the use is counted late, as of now. Repeating the same commit changes\n"
               "nothing.\n"
               "\n"
               "Examples:\n"
               "  weir quota commit \"$id\" 713\n"
               "  weir quota commit \"$id\" --prompt 412 --output 301\n"
               "  weir quota commit \"$id\" --prompt 412 --output 150 --partial --ttl 60",
     .arguments = {&kReservation, &kUsed, &kPromptUsed, &kOutputUsed, &kPartial, &kPartialTime},
     .add_more = CheckCommit,
     .call = Call::kCommit,
     .yes = "committed"},
    {.name = "extend",
     .meaning = "gives a reservation more time, before its own is over",
     .footer = "Use it for calls that take long: the time to live is counted from now.\n"
               "\n"
               "Example:\n"
               "  weir quota extend \"$id\" --ttl 3600",
     .arguments = {&kReservation, &kMoreTime},
     .call = Call::kExtend,
     .yes = "extended"},
    {.name = "refund",
     .meaning = "gives a reservation back, including its request",
     .footer = "Example:\n  weir quota refund \"$id\"",
     .arguments = {&kReservation},
     .call = Call::kRefund,
     .yes = "refunded"},
    {.name = "record",
     .meaning = "counts a request that was made, whatever the limits",
     .footer = "Example:\n  weir quota record gpt-4o 412 301",
     .arguments = {&kModel, &kPrompt, &kOutput, &kUser, &kTenant, &kApiKey, &kInstance, &kQos, &kKey},
     .call = Call::kRecord,
     .yes = "recorded"},
    {.name = "explain",
     .meaning = "decides as decide does, and shows the state of every tier that the request meets",
     .footer = "Example:\n  weir quota explain gpt-4o 900 --user alice --tenant acme --instance gpu-7",
     .arguments = {&kModel, &kEstimate, &kUser, &kTenant, &kApiKey, &kInstance, &kQos},
     .call = Call::kExplain,
     .yes = "allowed"},
    {.name = "stats",
     .meaning = "shows what was used in the last minute and in the day, and what is reserved",
     .footer = "Examples:\n  weir quota stats\n  weir quota stats gpt-4o --json\n"
               "  weir quota stats --store sqlite:/var/lib/weir/quota.db",
     .arguments = {&kOnlyModel},
     .call = Call::kModel,
     .call_for_all = Call::kModels},
    {.name = "models",
     .meaning = "lists the known models and what they may use",
     .footer = "Example:\n  weir quota models",
     .call = Call::kModels},
    {.name = "set",
     .meaning = "sets a model's limits, for all programs that share the store; limits that are not named stay",
     .footer = "0 means no limit. With a gate, only administrators may do this (WEIR_ADMIN_TOKEN).\n"
               "\n"
               "Examples:\n"
               "  weir quota set gpt-4o --rpm 500 --tpm 30000\n"
               "  weir quota set my-model --rpd 0",
     .arguments = {&kModel, &kRpm, &kTpm, &kRpd},
     .add_more = CheckSet,
     .call = Call::kSetQuota},
    {.name = "unset",
     .meaning = "removes the limits that set stated: those of the configuration apply again, or else the provider's",
     .footer = "Usage stays. With a gate, only administrators may do this (WEIR_ADMIN_TOKEN).\n"
               "\n"
               "Example:\n"
               "  weir quota unset gpt-4o",
     .arguments = {&kModel},
     .call = Call::kUnsetQuota},
    {.name = "reset",
     .meaning = "forgets a model's counts and open reservations; its limits stay",
     .footer = "With a gate, only administrators may do this (WEIR_ADMIN_TOKEN).\n"
               "\n"
               "Examples:\n"
               "  weir quota reset gpt-4o\n"
               "  weir quota reset --all",
     .arguments = {&kModelOrAll},
     .add_more = AddAll,
     .call = Call::kReset,
     .call_for_all = Call::kResetAll},
    {.name = "migrate",
     .meaning = "copies quotas and usage from one store to another",
     .footer = "FROM must exist and must not be empty; it is not changed. A second run overwrites TO with what FROM\n"
               "has then. Counts of tiers and open reservations are not copied: reserved tokens count as used. Stop\n"
               "the gates on both stores before.\n"
               "\n"
               "Examples:\n"
               "  weir quota migrate yaml:ratelimits.yaml sqlite:quota.db\n"
               "  weir quota migrate sqlite:quota.db redis://127.0.0.1:6379",
     .add_more = AddStores},
    {.name = "watch",
     .meaning = "repeats stats until Ctrl-C",
     .footer = "On a terminal it redraws a table; otherwise it prints a line for each model that is in use.\n"
               "\n"
               "Examples:\n"
               "  weir quota watch\n"
               "  weir quota watch --interval 10 >> usage.log\n"
               "  weir quota watch --json | jq -c '.models[] | select(.usage.rpm > 0)'",
     .add_more = AddTimes},
    {.name = "count",
     .meaning = "counts the tokens of a text, as the Gemini API counts them",
     .footer = "Sends the text to Google's Gemini API, or to the server of WEIR_COUNT_TOKENS_URL, which must have the\n"
               "same call (models/MODEL:countTokens), with the key WEIR_COUNT_TOKENS_KEY. Without that address, MODEL\n"
               "is a model of Google's: gemini-… or gemma-….\n"
               "\n"
               "Examples:\n"
               "  weir quota count gemini-2.5-pro 'How long is a piece of string?'\n"
               "  weir quota count gemini-2.5-pro < prompt.txt",
     .arguments = {&kModel},
     .add_more = AddText},
};

// Returns the variable for the member's argument; a flag needs a bool.
auto* VariableOf(auto& member) { return &member; }
bool* VariableOf(std::optional<bool>& member) { return &member.emplace(false); }

void Add(const Argument& argument, CommandLine& line, Body& body) {
  const auto add = [&](auto member) { return line.Add(argument.name, VariableOf(body.*member), argument.meaning); };
  CommandLine::Argument added = std::visit(add, argument.member);
  const QuotaKey& key = KeyOf(argument.member);
  if (std::holds_alternative<QuotaKey::Whole>(key.member)) added.Within(key.min, key.max);
  if (argument.required) added.Required();
}

// Writes the key and its value, if the argument was given.
void Write(const QuotaKey& key, const Body& body, JsonWriter& json) {
  if (const auto* text = std::get_if<QuotaKey::Text>(&key.member)) {
    if (body.**text && !(body.**text)->empty()) json.Member(key.name).String(*(body.**text));
  } else if (const auto* whole = std::get_if<QuotaKey::Whole>(&key.member)) {
    if (body.**whole) json.Member(key.name).Number(*(body.**whole));
  } else if ((body.*std::get<QuotaKey::Flag>(key.member)).value_or(false)) {
    json.Member(key.name).Bool(true);
  }
}

}  // namespace

void QuotaVerb::AddTo(CommandLine& line, QuotaFlags& flags) const {
  for (const Argument* argument : arguments)
    if (argument != nullptr) Add(*argument, line, flags.body);
  if (add_more != nullptr) add_more(line, flags);
}

QuotaQuestion QuotaVerb::Question(const QuotaFlags& flags) const {
  QuotaQuestion question{.call = *call, .model = flags.model()};
  if (question.model.empty()) question.call = call_for_all.value_or(*call);
  const auto in_body = [&](const Argument* a) { return a != nullptr && KeyOf(a->member).IsOf(question.call); };
  if (std::ranges::none_of(arguments, in_body)) return question;
  JsonWriter json;
  json.Open('{');
  for (const Argument* argument : arguments)
    if (in_body(argument)) Write(KeyOf(argument->member), flags.body, json);
  question.body = std::move(json.Close('}')).Text();
  return question;
}

std::span<const QuotaVerb> QuotaVerbs() { return kVerbs; }

}  // namespace weir
