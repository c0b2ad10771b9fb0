#include "relay/limiters/quota/quota_json.h"

#include <algorithm>
#include <array>

#include "config/text/json_writer.h"
#include "config/text/rfc3339.h"
#include "relay/net/http_error.h"

namespace weir {
namespace {

// Returns a JSON object on one line; `fill` writes its members.
template <typename Fill>
std::string Object(Fill fill) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  fill(json);
  json.Close('}');
  return std::move(json).Text();
}

void WriteQuota(const ModelQuota& quota, JsonWriter& json) {
  json.Member("quota").Open('{');
  json.Member("max_rpm").Number(quota.max_rpm);
  json.Member("max_tpm").Number(quota.max_tpm);
  json.Member("max_rpd").Number(quota.max_rpd);
  json.Close('}');
}

void WriteUsage(const ModelUsage& usage, JsonWriter& json) {
  json.Member("usage").Open('{');
  json.Member("rpm").Number(usage.rpm);
  json.Member("tpm").Number(usage.tpm);
  json.Member("rpd").Number(usage.rpd);
  if (usage.day_start != WallTime{}) json.Member("day_start").String(FormatTime(usage.day_start));
  json.Member("open_reservations").Number(usage.open_reservations);
  json.Close('}');
}

double InMoney(int64_t millionths) { return static_cast<double>(millionths) / kMoneyUnit; }

void WriteAmount(std::string_view name, Limit::Unit unit, int64_t amount, JsonWriter& json) {
  json.Member(name);
  unit == Limit::Unit::kMoney ? json.Number(InMoney(amount)) : json.Number(amount);
}

void WriteTier(const TierState& state, JsonWriter& json) {
  json.Open('{');
  json.Member("tier").String(NameOf(state.tier));
  json.Member("key").String(Shareable(state.key));
  const Limit::Unit unit = state.limit.unit;
  json.Member("unit").String(NameOf(unit));
  WriteAmount("amount", unit, state.limit.amount, json);
  if (unit == Limit::Unit::kCalls) {
    // A limit of calls has no period: a call counts while it is under way.
  } else if (IsOfCalendar(state.limit)) {
    json.Member("per").String(PeriodOf(state.limit));
    json.Member("ends").String(FormatTime(EndOfPeriod(state.limit)));
  } else {
    json.Member("per_seconds").Number(ToSeconds(state.limit.per));
  }
  if (state.limit.kind == Limit::Kind::kBucket) WriteAmount("burst", unit, state.limit.burst, json);
  WriteAmount("used", unit, state.used, json);
  WriteAmount("remaining", unit, state.remaining, json);
  json.Close('}');
}

void WriteModelMembers(const ModelStats& stats, JsonWriter& json) {
  json.Member("model").String(stats.model);
  if (stats.quota) WriteQuota(*stats.quota, json);
  WriteUsage(stats.usage, json);
}

std::string_view NameOf(StoreHealth::Breaker breaker) {
  constexpr std::array<std::string_view, 3> kNames = {"closed", "half_open", "open"};
  return kNames[static_cast<size_t>(breaker)];
}

}  // namespace

std::string Shareable(const std::string& key) {
  if (key.starts_with("key:")) return "key:***";
  const size_t at = key.find(":key:");
  return at == std::string::npos ? key : key.substr(0, at) + ":key:***";
}

std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens, bool is_error) {
  return Object([&](JsonWriter& json) {
    json.Member("allowed").Bool(decision.allowed);
    json.Member("code").String(NameOf(decision.code));
    if (!decision.reason.empty()) json.Member("reason").String(decision.reason);
    if (is_error) WriteErrorMember(NameOf(decision.code), decision.reason, json);
    if (decision.shadowed) json.Member("shadowed").Bool(true);
    json.Member("model").String(model);
    if (!decision.counted_as.empty()) json.Member("counted_as").String(decision.counted_as);
    json.Member("tokens").Number(tokens);
    if (decision.cost) json.Member("cost").Number(InMoney(*decision.cost));
    if (decision.again) json.Member("again").Bool(true);
    if (decision.retry_after) json.Member("retry_after_seconds").Number(ToSeconds(*decision.retry_after));
    if (decision.tier) json.Member("tier").String(NameOf(*decision.tier));
    if (decision.priority) json.Member("priority").Number(*decision.priority);
    if (!decision.reservation.empty()) json.Member("reservation").String(decision.reservation);
    if (decision.quota) WriteQuota(*decision.quota, json);
    WriteUsage(decision.usage, json);
    if (!decision.tiers.empty()) {
      json.Member("tiers").Open('[');
      for (const TierState& state : decision.tiers) WriteTier(state, json);
      json.Close(']');
    }
  });
}

std::string WriteSettled(const Settled& settled) {
  return Object([&](JsonWriter& json) {
    json.Member("settled").Bool(settled.extended_to == Duration());
    json.Member("model").String(settled.model);
    json.Member("reserved_tokens").Number(settled.reserved_tokens);
    json.Member("actual_tokens").Number(settled.actual_tokens);
    if (settled.cost) json.Member("cost").Number(InMoney(*settled.cost));
    if (settled.late) json.Member("late").Bool(true);
    if (settled.extended_to > Duration()) json.Member("ttl_seconds").Number(ToSeconds(settled.extended_to));
  });
}

std::string WriteExtended(const Settled& settled) {
  return Object([&](JsonWriter& json) {
    json.Member("extended").Bool(true);
    json.Member("model").String(settled.model);
    json.Member("reserved_tokens").Number(settled.reserved_tokens);
    json.Member("ttl_seconds").Number(ToSeconds(settled.extended_to));
  });
}

std::string WriteModel(const ModelStats& stats) {
  return Object([&](JsonWriter& json) { WriteModelMembers(stats, json); });
}

std::string WriteModels(const AllModelStats& all) {
  return Object([&](JsonWriter& json) {
    json.Member("models").Open('[');
    for (const ModelStats& stats : all.models) {
      json.Open('{');
      WriteModelMembers(stats, json);
      json.Close('}');
    }
    json.Close(']');
    if (!all.next.empty()) json.Member("next").String(all.next);
    if (all.problem.empty()) return;
    json.Member("unavailable").Open('{').Member("models").Open('[');
    for (const std::string& model : all.unavailable) json.String(model);
    json.Close(']').Member("problem").String(all.problem);
    json.Close('}');
  });
}

std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving, std::string_view trouble) {
  return Object([&](JsonWriter& json) {
    json.Member("serving").Bool(serving);
    if (!serving) WriteErrorMember(NameOf(QuotaCode::kStoreUnavailable), trouble, json);
    json.Member("store").String(store);
    json.Member("breaker").String(NameOf(health.breaker));
    if (!health.problem.empty()) json.Member("problem").String(health.problem);
    if (!health.warning.empty()) json.Member("warning").String(health.warning);
    json.Member("failures").Number(health.failures);
    json.Member("reconnects").Number(health.reconnects);
    json.Member("expired_reservations").Number(health.expired_reservations);
    json.Member("dropped_entries").Number(health.dropped_entries);
  });
}

}  // namespace weir
