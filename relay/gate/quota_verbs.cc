#include "relay/gate/quota_verbs.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "relay/json_writer.h"
#include "throttle/quota/quota.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using Flags = QuotaFlags;

// The keys of a call's body, where they are given.
class Body {
 public:
  Body() { json_.Open('{'); }
  Body& Add(std::string_view key, std::string_view text) {
    if (!text.empty()) json_.Member(key).String(text);
    return *this;
  }
  Body& Add(std::string_view key, const std::optional<int64_t>& number) {
    if (number) json_.Member(key).Number(*number);
    return *this;
  }
  Body& AddRequester(const Flags& flags) {
    return Add("user", flags.user)
        .Add("tenant", flags.tenant)
        .Add("api_key", flags.api_key)
        .Add("instance", flags.instance)
        .Add("qos", flags.qos);
  }
  Body& AddTrue(std::string_view key) {
    json_.Member(key).Bool(true);
    return *this;
  }
  std::string Text() { return std::move(json_.Close('}')).Text(); }

 private:
  JsonWriter json_;
};

CLI::Range Amounts() { return {int64_t{0}, kMostAmount}; }

void AddModel(CLI::App& app, Flags& flags) { app.add_option("MODEL", flags.model, "its name")->required(); }

void AddRequester(CLI::App& app, Flags& flags) {
  app.add_option("--user", flags.user, "who asks");
  app.add_option("--tenant", flags.tenant, "whose user that is");
  app.add_option("--api-key", flags.api_key,
                 "by which key; - is the first line of standard input (default: WEIR_QUOTA_API_KEY)");
  app.add_option("--instance", flags.instance, "the GPU instance that would serve it");
  app.add_option("--qos", flags.qos, "the class of service: premium, standard, free, or those of the configuration");
}

void AddAsking(CLI::App& app, Flags& flags) {
  AddModel(app, flags);
  app.add_option("TOKENS", flags.tokens, "the estimate: prompt and output together")->required()->check(Amounts());
  AddRequester(app, flags);
}

void AddDecide(CLI::App& app, Flags& flags) {
  AddAsking(app, flags);
  app.add_flag("--charge", flags.charge, "and count it, where it is allowed");
}

void AddReserve(CLI::App& app, Flags& flags) {
  AddAsking(app, flags);
  app.add_option("--ttl", flags.ttl_seconds, "seconds after which it is given back, if nobody settles it before")
      ->check(CLI::Range(1, 86400));
}

void AddCommit(CLI::App& app, Flags& flags) {
  app.add_option("RESERVATION", flags.reservation, "what reserve answered")->required();
  CLI::Option* tokens = app.add_option("TOKENS", flags.tokens, "what was used")->check(Amounts());
  app.add_option("--prompt", flags.prompt, "or: the prompt's tokens")->check(Amounts())->excludes(tokens);
  app.add_option("--output", flags.output, "and the output's")->check(Amounts())->excludes(tokens);
  app.callback([&flags] {
    if (!flags.tokens && !flags.prompt && !flags.output)
      throw CLI::ValidationError("TOKENS", "what was used is missing: TOKENS, or --prompt and --output");
  });
}

void AddRefund(CLI::App& app, Flags& flags) {
  app.add_option("RESERVATION", flags.reservation, "what reserve answered")->required();
}

void AddRecord(CLI::App& app, Flags& flags) {
  AddModel(app, flags);
  app.add_option("PROMPT", flags.prompt, "the prompt's tokens")->required()->check(Amounts());
  app.add_option("OUTPUT", flags.output, "the output's")->required()->check(Amounts());
  AddRequester(app, flags);
}

void AddStats(CLI::App& app, Flags& flags) { app.add_option("MODEL", flags.model, "only this one"); }

void AddNothing(CLI::App&, Flags&) {}

void AddSet(CLI::App& app, Flags& flags) {
  AddModel(app, flags);
  app.add_option("--rpm", flags.rpm, "requests in any minute")->check(Amounts());
  app.add_option("--tpm", flags.tpm, "tokens in any minute")->check(Amounts());
  app.add_option("--rpd", flags.rpd, "requests in the 24 hours from the first of them")->check(Amounts());
  app.callback([&flags] {
    if (!flags.rpm && !flags.tpm && !flags.rpd)
      throw CLI::ValidationError("set", "the limit is missing: --rpm, --tpm or --rpd");
  });
}

void AddReset(CLI::App& app, Flags& flags) {
  CLI::Option* model = app.add_option("MODEL", flags.model, "its name");
  app.add_flag("--all", flags.all, "all models")->excludes(model);
  app.callback([&flags] {
    if (flags.model.empty() && !flags.all) throw CLI::ValidationError("reset", "name a MODEL, or say --all");
  });
}

void AddMigrate(CLI::App& app, Flags& flags) {
  app.add_option("FROM", flags.from, "a store: yaml:PATH, sqlite:PATH, redis://HOST:PORT")->required();
  app.add_option("TO", flags.to, "another; what it has is replaced")->required();
  app.add_flag("--force", flags.force, "even where FROM holds nothing: empties TO");
}

void AddWatch(CLI::App& app, Flags& flags) {
  app.add_option("--interval", flags.interval_seconds, "seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--times", flags.times, "look so often, and end")->check(CLI::Range(uint64_t{1}, uint64_t{1} << 62));
}

void AddCount(CLI::App& app, Flags& flags) {
  AddModel(app, flags);
  app.add_option("TEXT", flags.text, "the text; - is standard input")->capture_default_str();
}

QuotaQuestion Asking(Call call, const Flags& flags) {
  Body body;
  body.Add("model", flags.model).Add("tokens", flags.tokens).AddRequester(flags);
  if (call == Call::kReserve) body.Add("ttl_seconds", flags.ttl_seconds);
  if (call == Call::kDecide && flags.charge) body.AddTrue("charge");
  return {.call = call, .body = body.Text()};
}

QuotaQuestion Decide(const Flags& flags) { return Asking(Call::kDecide, flags); }
QuotaQuestion Reserve(const Flags& flags) { return Asking(Call::kReserve, flags); }
QuotaQuestion Explain(const Flags& flags) { return Asking(Call::kExplain, flags); }

QuotaQuestion Commit(const Flags& flags) {
  Body body;
  body.Add("reservation", flags.reservation)
      .Add("tokens", flags.tokens)
      .Add("prompt_tokens", flags.prompt)
      .Add("output_tokens", flags.output);
  return {.call = Call::kCommit, .body = body.Text()};
}

QuotaQuestion Refund(const Flags& flags) {
  return {.call = Call::kRefund, .body = Body().Add("reservation", flags.reservation).Text()};
}

QuotaQuestion Record(const Flags& flags) {
  Body body;
  body.Add("model", flags.model).Add("prompt_tokens", flags.prompt).Add("output_tokens", flags.output);
  return {.call = Call::kRecord, .body = body.AddRequester(flags).Text()};
}

QuotaQuestion Stats(const Flags& flags) {
  return {.call = flags.model.empty() ? Call::kModels : Call::kModel, .model = flags.model};
}

QuotaQuestion Models(const Flags&) { return {.call = Call::kModels}; }

QuotaQuestion Set(const Flags& flags) {
  Body body;
  body.Add("max_rpm", flags.rpm).Add("max_tpm", flags.tpm).Add("max_rpd", flags.rpd);
  return {.call = Call::kSetQuota, .model = flags.model, .body = body.Text()};
}

QuotaQuestion Unset(const Flags& flags) { return {.call = Call::kUnsetQuota, .model = flags.model}; }

QuotaQuestion Reset(const Flags& flags) {
  return {.call = flags.all ? Call::kResetAll : Call::kReset, .model = flags.model};
}

constexpr QuotaVerb kVerbs[] = {
    {.name = "decide",
     .meaning = "whether a request would be allowed now; counts nothing",
     .footer = "Between this and a later record others may ask too, and all go: who can, reserves.\n"
               "\n"
               "Examples:\n"
               "  weir quota decide gpt-4o 900\n"
               "  weir quota decide gpt-4o 900 --charge && call-the-model\n"
               "  weir quota decide gpt-4o 900 --user alice --qos premium --json",
     .add = AddDecide,
     .question = Decide,
     .yes = "allowed"},
    {.name = "reserve",
     .meaning = "takes the estimate before the call",
     .footer = "Commit or refund what it answers; what nobody settles is given back after the time to live.\n"
               "\n"
               "Examples:\n"
               "  weir quota reserve gpt-4o 900\n"
               "  id=$(weir quota reserve gpt-4o 900 --ttl 30 --json | jq -r .reservation)\n"
               "  weir quota commit \"$id\" --prompt 412 --output 301",
     .add = AddReserve,
     .question = Reserve,
     .yes = "reserved"},
    {.name = "commit",
     .meaning = "settles a reservation by what was really used",
     .footer = "Less than was reserved frees the rest at once; more is counted, whatever the limits.\n"
               "\n"
               "Examples:\n"
               "  weir quota commit \"$id\" 713\n"
               "  weir quota commit \"$id\" --prompt 412 --output 301",
     .add = AddCommit,
     .question = Commit,
     .yes = "committed"},
    {.name = "refund",
     .meaning = "gives a reservation back, its request too",
     .footer = "Example:\n  weir quota refund \"$id\"",
     .add = AddRefund,
     .question = Refund,
     .yes = "refunded"},
    {.name = "record",
     .meaning = "counts a request that was made, whatever the limits",
     .footer = "Example:\n  weir quota record gpt-4o 412 301",
     .add = AddRecord,
     .question = Record,
     .yes = "recorded"},
    {.name = "explain",
     .meaning = "decide, with the state of every tier that the request meets",
     .footer = "Example:\n  weir quota explain gpt-4o 900 --user alice --tenant acme --instance gpu-7",
     .add = AddAsking,
     .question = Explain,
     .yes = "allowed"},
    {.name = "stats",
     .meaning = "what is used: of the last minute, of the day, and what is reserved",
     .footer = "Examples:\n  weir quota stats\n  weir quota stats gpt-4o --json\n"
               "  weir quota stats --store sqlite:/var/lib/weir/quota.db",
     .add = AddStats,
     .question = Stats},
    {.name = "models",
     .meaning = "the models that are known, and what they may use",
     .footer = "Example:\n  weir quota models",
     .add = AddNothing,
     .question = Models},
    {.name = "set",
     .meaning = "states a model's limits, for all who share the store; what is not named stays",
     .footer = "0 is no limit. Of a gate: for administrators, by WEIR_ADMIN_TOKEN.\n"
               "\n"
               "Examples:\n"
               "  weir quota set gpt-4o --rpm 500 --tpm 30000\n"
               "  weir quota set my-model --rpd 0",
     .add = AddSet,
     .question = Set},
    {.name = "unset",
     .meaning = "takes back what set stated: the configuration's limits hold again, or the provider's",
     .footer = "Usage stays. Of a gate: for administrators, by WEIR_ADMIN_TOKEN.\n"
               "\n"
               "Example:\n  weir quota unset gpt-4o",
     .add = AddModel,
     .question = Unset},
    {.name = "reset",
     .meaning = "forgets a model's counts and open reservations; its limits stay",
     .footer = "Of a gate: for administrators, by WEIR_ADMIN_TOKEN.\n"
               "\n"
               "Examples:\n  weir quota reset gpt-4o\n  weir quota reset --all",
     .add = AddReset,
     .question = Reset},
    {.name = "migrate",
     .meaning = "copies quotas and usage from one store to another",
     .footer = "FROM must be there, and hold something; it stays as it is. Doing it again overwrites what TO had with "
               "what FROM has now. Counts of tiers and\n"
               "open reservations are not copied: what is reserved counts as used. Stop the gates on both before.\n"
               "\n"
               "Examples:\n"
               "  weir quota migrate yaml:ratelimits.yaml sqlite:quota.db\n"
               "  weir quota migrate sqlite:quota.db redis://127.0.0.1:6379",
     .add = AddMigrate},
    {.name = "watch",
     .meaning = "stats, again and again, until Ctrl-C",
     .footer = "On a terminal a table that is redrawn; else a line for each model that is in use.\n"
               "\n"
               "Examples:\n  weir quota watch\n  weir quota watch --interval 10 >> usage.log\n"
               "  weir quota watch --json | jq -c '.models[] | select(.usage.rpm > 0)'",
     .add = AddWatch},
    {.name = "count",
     .meaning = "how many tokens a text is, as the provider counts",
     .footer = "Asks the Gemini API, or what WEIR_COUNT_TOKENS_URL names, with the key WEIR_COUNT_TOKENS_KEY.\n"
               "\n"
               "Examples:\n  weir quota count gemini-2.5-pro 'How long is a piece of string?'\n"
               "  weir quota count gemini-2.5-pro < prompt.txt",
     .add = AddCount},
};

}  // namespace

std::span<const QuotaVerb> QuotaVerbs() { return kVerbs; }

}  // namespace weir
