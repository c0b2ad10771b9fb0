#include "relay/gate/quota_json.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "relay/json_writer.h"

namespace weir {
namespace {

using Layout = JsonWriter::Layout;

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
  if (usage.day_start != WallTime{}) json.Member("day_start").String(FormatUtc(usage.day_start));
  json.Member("open_reservations").Number(usage.open_reservations);
  json.Close('}');
}

// An API key is a secret, also in the logs of who asks.
std::string Shareable(const std::string& key) {
  if (key.starts_with("key:")) return "key:***";
  const size_t at = key.find(":key:");
  return at == std::string::npos ? key : key.substr(0, at) + ":key:***";
}

void WriteTier(const TierState& state, JsonWriter& json) {
  json.Open('{');
  json.Member("tier").String(NameOf(state.tier));
  json.Member("key").String(Shareable(state.key));
  json.Member("unit").String(state.limit.unit == Limit::Unit::kRequests ? "requests" : "tokens");
  json.Member("amount").Number(state.limit.amount);
  json.Member("per_seconds").Number(ToSeconds(state.limit.per));
  if (state.limit.kind == Limit::Kind::kBucket) json.Member("burst").Number(state.limit.burst);
  json.Member("used").Number(state.used);
  json.Member("remaining").Number(state.remaining);
  json.Close('}');
}

void WriteModelMembers(const ModelStats& stats, JsonWriter& json) {
  json.Open('{');
  json.Member("model").String(stats.model);
  if (stats.quota) WriteQuota(*stats.quota, json);
  WriteUsage(stats.usage, json);
  json.Close('}');
}

std::string_view NameOf(StoreHealth::Breaker breaker) {
  constexpr std::array<std::string_view, 3> kNames = {"closed", "half_open", "open"};
  return kNames[static_cast<size_t>(breaker)];
}

}  // namespace

int64_t QuotaCallBody::cost() const {
  return tokens ? *tokens : AddAmounts(prompt_tokens.value_or(0), output_tokens.value_or(0));
}

std::string WriteError(const QuotaApiError& error) {
  JsonWriter json(Layout::kCompact);
  json.Open('{').Member("error").Open('{');
  json.Member("code").String(error.code);
  json.Member("message").String(error.message);
  json.Close('}').Close('}');
  return std::move(json).Text();
}

std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens) {
  JsonWriter json(Layout::kCompact);
  json.Open('{');
  json.Member("allowed").Bool(decision.allowed);
  json.Member("code").String(NameOf(decision.code));
  if (!decision.reason.empty()) json.Member("reason").String(decision.reason);
  if (decision.shadowed) json.Member("shadowed").Bool(true);
  json.Member("model").String(model);
  json.Member("tokens").Number(tokens);
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
  json.Close('}');
  return std::move(json).Text();
}

std::string WriteSettled(const Settled& settled) {
  JsonWriter json(Layout::kCompact);
  json.Open('{');
  json.Member("settled").Bool(settled.ok());
  json.Member("model").String(settled.model);
  json.Member("reserved_tokens").Number(settled.reserved_tokens);
  json.Member("actual_tokens").Number(settled.actual_tokens);
  json.Close('}');
  return std::move(json).Text();
}

std::string WriteModel(const ModelStats& stats) {
  JsonWriter json(Layout::kCompact);
  WriteModelMembers(stats, json);
  return std::move(json).Text();
}

std::string WriteModels(const std::vector<ModelStats>& models) {
  JsonWriter json(Layout::kCompact);
  json.Open('{').Member("models").Open('[');
  for (const ModelStats& stats : models) WriteModelMembers(stats, json);
  json.Close(']').Close('}');
  return std::move(json).Text();
}

std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving) {
  JsonWriter json(Layout::kCompact);
  json.Open('{');
  json.Member("serving").Bool(serving);
  json.Member("store").String(store);
  json.Member("breaker").String(NameOf(health.breaker));
  if (!health.problem.empty()) json.Member("problem").String(health.problem);
  if (!health.warning.empty()) json.Member("warning").String(health.warning);
  json.Member("failures").Number(health.failures);
  json.Member("reconnects").Number(health.reconnects);
  json.Member("expired_reservations").Number(health.expired_reservations);
  json.Member("dropped_entries").Number(health.dropped_entries);
  json.Close('}');
  return std::move(json).Text();
}

std::string FormatUtc(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%09d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  std::string out(text.data());
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out + "Z";
}

}  // namespace weir
