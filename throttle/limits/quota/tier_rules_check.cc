// Checks the rules of tiers (CheckTierRules and its parts).
#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "config/text/parse.h"
#include "throttle/limits/quota/tier_rules.h"

namespace weir {
namespace {

Status At(const std::string& where, const Status& status) {
  return status.ok() ? status : Status::Error(where + ": " + status.message());
}

Status CheckOverrides(const std::string& what, const std::map<std::string, LimitsByModel, std::less<>>& parties,
                      bool secret) {
  for (const auto& [party, by_model] : parties) {
    if (Status name = CheckPartyName(what, party); !name.ok()) return name;
    for (const auto& [model, limits] : by_model) {
      if (Status name = CheckName("model", model); !name.ok()) return name;
      if (Status checked = CheckLimits(limits, true); !checked.ok())
        return At(what + " " + (secret ? BeginOfSecret(party) : Printable(party)) + ", model " + Printable(model),
                  checked);
    }
  }
  return {};
}

Status CheckDenied(const std::string& what, const Denied& denied) {
  for (const auto& [party, models] : denied) {
    if (Status name = CheckPartyName(what, party); !name.ok()) return name;
    for (const std::string& model : models)
      if (Status name = CheckModelName(model); !name.ok()) return name;
  }
  return {};
}

Status CheckUsers(const std::string& where, const LimitsByUser& users) {
  for (const auto& [user, limits] : users) {
    if (Status name = CheckPartyName("user", user); !name.ok()) return name;
    if (Status checked = CheckLimits(limits); !checked.ok()) return At(where + "user " + Printable(user), checked);
  }
  return {};
}

Status CheckTierLimits(const std::string& where, const TierLimits& limits) {
  for (const auto& [name, list] : {std::pair("user_model", &limits.user_model), std::pair("model", &limits.model),
                                   std::pair("instance", &limits.instance)})
    if (Status checked = CheckLimits(*list); !checked.ok()) return At(where + ", " + name, checked);
  return {};
}

}  // namespace

std::string BeginOfSecret(std::string_view secret) {
  static constexpr size_t kShown = 4;
  return secret.size() <= 2 * kShown ? "…" : Printable(secret.substr(0, kShown)) + "…";
}

Status CheckLimit(const Limit& limit) {
  static constexpr Duration kShortest = std::chrono::seconds(1);
  static constexpr Duration kLongest = std::chrono::days(366);
  const std::string text = Describe(limit);
  if (limit.amount < 1 || limit.amount > kMostAmount)
    return Status::Error(text + ": the amount is " + std::to_string(limit.amount) + ", expected 1.." +
                         std::to_string(kMostAmount));
  if (limit.unit == Limit::Unit::kCalls && (limit.kind != Limit::Kind::kWindow || limit.per != kCallCounts))
    return Status::Error(text + ": calls under way are counted in a window of kCallCounts alone");
  if (IsOfCalendar(limit)) {
    return limit.per == Duration::zero() ? Status() : Status::Error(text + ": a calendar day or month has no length");
  }
  if (limit.per < kShortest || limit.per > kLongest || limit.per % std::chrono::milliseconds(1) != Duration::zero())
    return Status::Error(text + ": the time is " + FormatNumber(ToSeconds(limit.per)) +
                         " s, expected whole milliseconds within 1 s..366 days");
  if (limit.kind == Limit::Kind::kBucket && (limit.burst < limit.amount || limit.burst > kMostAmount))
    return Status::Error(text + ": the burst is " + std::to_string(limit.burst) +
                         ", expected the amount at least, and " + std::to_string(kMostAmount) + " at most");
  return {};
}

Status CheckLimits(const Limits& limits, bool of_party) {
  if (limits.size() > kMaxLimits)
    return Status::Error(std::to_string(limits.size()) + " limits, expected " + std::to_string(kMaxLimits) +
                         " at most");
  const auto totals = static_cast<size_t>(std::ranges::count(limits, true, &Limit::total));
  if (totals > 0 && !of_party)
    return Status::Error(
        "total: true belongs to limits of tenants and API keys; those of `users` are totals without it, and other "
        "limits are never added up");
  if (totals > kMaxTotals)
    return Status::Error(std::to_string(totals) + " limits are totals, expected " + std::to_string(kMaxTotals) +
                         " at most");
  for (size_t i = 0; i < limits.size(); ++i) {
    if (Status checked = CheckLimit(limits[i]); !checked.ok()) return checked;
    for (size_t j = 0; j < i; ++j) {
      // They would share one counter, to which each request would be added twice.
      if (limits[j].total == limits[i].total && MeterName(limits[j]) == MeterName(limits[i]))
        return Status::Error(Describe(limits[j]) + " and " + Describe(limits[i]) +
                             ": two limits of the same kind and time, expected one");
    }
  }
  return {};
}

Status CheckOneName(std::string_view what, std::string_view name) {
  if (Status checked = CheckName(what, name); !checked.ok()) return checked;
  if (!IsModelPattern(name)) return {};
  return Status::Error(std::string(what) + ": found a * in the name, expected a whole name: only models have patterns");
}

Status CheckPartyName(std::string_view what, std::string_view name) {
  return name == kEveryOther ? Status() : CheckOneName(what, name);
}

Status CheckModelClass(std::span<const ModelClass> before, const ModelClass& of_models) {
  if (Status name = CheckName("model class", of_models.name); !name.ok()) return name;
  if (of_models.name == kOtherModelClass)
    return Status::Error("the model class \"other\": that is the class of models that have none");
  if (before.size() >= kMaxModelClasses)
    return Status::Error("more than " + std::to_string(kMaxModelClasses) + " model classes");
  std::set<std::string_view> models;
  for (const std::string& model : of_models.models) {
    if (Status name = CheckModelName(model); !name.ok()) return name;
    if (!models.insert(model).second)
      return Status::Error("the model " + Printable(model) + " twice in the class " + Printable(of_models.name));
  }
  for (const ModelClass& other : before) {
    if (other.name == of_models.name) return Status::Error("a second model class " + Printable(other.name));
    for (const std::string& model : other.models)
      if (models.contains(model))
        return Status::Error("the model " + Printable(model) + " is in the class " + Printable(other.name) +
                             " already");
  }
  return {};
}

Status CheckQosClass(std::span<const QosClass> before, const QosClass& qos) {
  if (Status name = CheckOneName("QoS class", qos.name); !name.ok()) return name;
  if (qos.priority < 1 || qos.priority > kMaxPriority)
    return Status::Error("QoS class " + Printable(qos.name) + ": the priority is " + std::to_string(qos.priority) +
                         ", expected 1.." + std::to_string(kMaxPriority));
  if (before.size() >= kMaxQosClasses)
    return Status::Error("more than " + std::to_string(kMaxQosClasses) + " QoS classes");
  if (std::ranges::find(before, qos.name, &QosClass::name) != before.end())
    return Status::Error("a second QoS class " + Printable(qos.name));
  return {};
}

Status CheckTierRules(const TierRulesConfig& config) {
  if (Status zone = Calendar::Of(config.time_zone).status(); !zone.ok()) return At("time_zone", zone);
  if (Status checked = CheckTierLimits("default", config.default_limits); !checked.ok()) return checked;
  for (size_t i = 0; i < config.model_classes.size(); ++i) {
    const ModelClass& of_models = config.model_classes[i];
    if (Status checked = CheckModelClass({config.model_classes.data(), i}, of_models); !checked.ok()) return checked;
    if (Status checked = CheckTierLimits("model class " + of_models.name, of_models.limits); !checked.ok())
      return checked;
  }
  for (size_t i = 0; i < config.qos_classes.size(); ++i) {
    const QosClass& qos = config.qos_classes[i];
    if (Status checked = CheckQosClass({config.qos_classes.data(), i}, qos); !checked.ok()) return checked;
    if (Status checked = CheckLimits(qos.limits); !checked.ok()) return At("QoS class " + qos.name, checked);
  }
  if (Status checked = CheckOverrides("tenant", config.tenants, false); !checked.ok()) return checked;
  if (Status checked = CheckDenied("tenant", config.denied_tenants); !checked.ok()) return checked;
  if (Status checked = CheckDenied("API key", config.denied_api_keys); !checked.ok()) return checked;
  for (const auto& [key, tenant] : config.api_key_tenants) {
    if (Status name = CheckPartyName("API key", key); !name.ok()) return name;
    if (Status name = CheckOneName("tenant", tenant); !name.ok()) return name;
  }
  if (Status checked = CheckUsers("", config.users); !checked.ok()) return checked;
  for (const auto& [tenant, users] : config.tenant_users) {
    if (Status name = CheckPartyName("tenant", tenant); !name.ok()) return name;
    if (Status checked = CheckUsers("tenant " + Printable(tenant) + ", ", users); !checked.ok()) return checked;
  }
  return CheckOverrides("API key", config.api_keys, true);
}

}  // namespace weir
