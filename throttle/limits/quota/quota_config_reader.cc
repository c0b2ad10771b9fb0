#include "throttle/limits/quota/quota_config_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "config/text/parse.h"
#include "throttle/limits/quota/model_names.h"

namespace weir {
namespace {

constexpr NumberRange kAmounts = {.min = 0, .max = static_cast<double>(kMostAmount)};
constexpr NumberRange kLimitAmounts = {.min = 1, .max = static_cast<double>(kMostAmount)};
constexpr int64_t kMostMoney = kMostAmount / kMoneyUnit;
constexpr NumberRange kTtl = {.min = 1, .max = 24 * 3600};
constexpr NumberRange kPer = {.min = 1, .max = 366.0 * 24 * 3600};

void NoteError(const YamlValue& at, const Status& status) {
  if (!status.ok()) at.Error(status.message());
}

// If `checked` is an error, reports it at the place `at` and returns false.
bool IsGood(const YamlValue& at, const Status& checked) {
  NoteError(at, checked);
  return checked.ok();
}

// Reads seconds, or a number with a unit: 90, 90s, 5m, 1h, 7d.
void ReadDuration(const YamlValue& value, NumberRange range, Duration* duration) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<Unit, 6> kUnits = {
      {{"ms", 0.001}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  if (!value) return;
  std::string text;
  if (!value.is_map()) value.Read(&text);
  const auto unit = std::ranges::find_if(kUnits, [&](const Unit& one) {
    return text.size() > one.name.size() && text.ends_with(one.name) &&
           std::string_view("0123456789.").find(text[text.size() - one.name.size() - 1]) != std::string_view::npos;
  });
  if (unit == kUnits.end()) return text.empty() ? void() : value.ReadSeconds(duration, range);
  text.resize(text.size() - unit->name.size());
  range = {.min = range.min / unit->seconds, .max = range.max / unit->seconds, .unit = unit->name};
  const Result<double> number = ParseNumber(text, range);
  if (!number.ok()) return value.Error(number.status().message());
  *duration = FromSeconds(number.value() * unit->seconds);
}

// Reads money, in whole millionths.
void ReadMoney(const YamlValue& value, double least, int64_t* money) {
  double units = least;
  value.Read(&units, {.min = least, .max = static_cast<double>(kMostMoney), .unit = "of money"});
  *money = std::llround(units * kMoneyUnit);
}

// Reads a length, or `day` or `month`.
void ReadPer(const YamlValue& per, Limit* limit) {
  std::string word;
  if (per && !per.is_map()) per.Read(&word);
  if (word == "day" || word == "month") {
    limit->kind = word == "day" ? Limit::Kind::kCalendarDay : Limit::Kind::kCalendarMonth;
    return;
  }
  if (word == "week" || word == "hour" || word == "minute" || word == "year")
    return per.Error("found " + word + ", expected a length (7d, 1h, 60s), or day or month for those of the calendar");
  ReadDuration(per, kPer, &limit->per);
  if (limit->per % std::chrono::milliseconds(1) != Duration::zero())
    per.Error("found " + FormatNumber(ToSeconds(limit->per)) + ", expected whole milliseconds");
}

// Reads the unit that is limited, and the amount of the limit.
void ReadAmount(const YamlValue& item, YamlMap& map, Limit* limit) {
  static constexpr std::array<std::string_view, kQuotaUnits> kKeys = {"requests", "tokens", "money", "in_flight"};
  size_t found = 0;
  for (size_t unit = 0; unit < kQuotaUnits; ++unit) {
    const YamlValue value = map.Optional(kKeys[unit]);
    if (!value) continue;
    if (++found > 1) return item.Error("found two of " + Join({kKeys.begin(), kKeys.end()}, ", ") + ", expected one");
    limit->unit = static_cast<Limit::Unit>(unit);
    if (limit->unit == Limit::Unit::kMoney) {
      ReadMoney(value, 1.0 / kMoneyUnit, &limit->amount);
    } else {
      value.Read(&limit->amount, {.min = kLimitAmounts.min, .max = kLimitAmounts.max, .unit = kKeys[unit]});
    }
  }
  if (found == 0) item.Error("found none of " + Join({kKeys.begin(), kKeys.end()}, ", ") + ", expected one of them");
}

void ReadLimit(const YamlValue& item, Limit* limit) {
  item.Map([&](YamlMap& map) {
    ReadAmount(item, map, limit);
    map.Optional("total").Read(&limit->total);
    if (limit->unit == Limit::Unit::kCalls) {
      limit->per = kCallCounts;
      return;
    }
    const YamlValue per = map.Required("per");
    ReadPer(per, limit);
    const YamlValue burst = map.Optional("burst");
    if (!burst) return;
    if (IsOfCalendar(*limit)) return burst.Error("found it beside a calendar day or month, expected a length (1d)");
    limit->kind = Limit::Kind::kBucket;
    const int64_t least = std::max<int64_t>(1, limit->amount);
    if (limit->unit == Limit::Unit::kMoney)
      return ReadMoney(burst, static_cast<double>(least) / kMoneyUnit, &limit->burst);
    burst.Read(&limit->burst,
               {.min = static_cast<double>(least), .max = kLimitAmounts.max, .unit = "at least the amount"});
  });
}

void ReadLimits(const YamlValue& list, Limits* limits, bool of_party = false) {
  if (!list) return;
  limits->clear();
  bool all_good = true;
  list.List([&](YamlValue item) {
    Limit& limit = limits->emplace_back();
    ReadLimit(item, &limit);
    all_good = all_good && CheckLimit(limit).ok();
  });
  // An empty list would look like "not limited", but the next list of limits would apply.
  if (list.is_list() && limits->empty())
    list.Error("found no limit, expected 1.." + std::to_string(kMaxLimits) + " limits");
  // An error in one of the limits was reported at its own place.
  if (all_good) NoteError(list, CheckLimits(*limits, of_party));
}

void ReadTierLimits(YamlMap& map, TierLimits* limits) {
  ReadLimits(map.Optional("user_model"), &limits->user_model);
  ReadLimits(map.Optional("model"), &limits->model);
  ReadLimits(map.Optional("instance"), &limits->instance);
}

void ReadModelClasses(const YamlValue& list, const ModelNames& names, std::vector<ModelClass>* classes) {
  if (!list) return;
  classes->clear();
  list.List([&](YamlValue item) {
    ModelClass of_models;
    item.Map([&](YamlMap& map) {
      map.Required("name").Read(&of_models.name);
      map.Optional("deny").Read(&of_models.deny);
      map.Required("models").List([&](YamlValue model) {
        std::string name;
        model.Read(&name);
        if (name.empty()) return;
        if (!of_models.deny) NoteError(model, names.CheckCounted(name));
        of_models.models.push_back(std::move(name));
      });
      ReadTierLimits(map, &of_models.limits);
    });
    if (!of_models.name.empty()) NoteError(item, CheckModelClass(*classes, of_models));
    classes->push_back(std::move(of_models));
  });
}

void ReadQosClasses(const YamlValue& list, std::vector<QosClass>* classes) {
  if (!list) return;
  classes->clear();
  list.List([&](YamlValue item) {
    QosClass qos;
    item.Map([&](YamlMap& map) {
      map.Required("name").Read(&qos.name);
      map.Required("priority").Read(&qos.priority, {.min = 1, .max = kMaxPriority, .unit = "1: first"});
      ReadLimits(map.Optional("limits"), &qos.limits);
      map.Optional("deny").Read(&qos.deny);
    });
    if (!qos.name.empty()) NoteError(item, CheckQosClass(*classes, qos));
    classes->push_back(std::move(qos));
  });
}

void ReadUsers(const YamlValue& list, LimitsByUser* users) {
  if (!list) return;
  users->clear();
  list.Entries([&](std::string_view user, const YamlValue& limits) {
    if (IsGood(limits, CheckPartyName("user", user))) ReadLimits(limits, &(*users)[std::string(user)]);
  });
}

// Reads the entry of a tenant or an API key for a model: limits, or a denial.
void ReadPartysModel(const YamlValue& value, std::string_view model, const ModelNames& names, LimitsByModel* limits,
                     std::set<std::string, std::less<>>* denied) {
  if (!IsGood(value, CheckModelName(model))) return;
  bool deny = false;
  if (model == "deny") {
    value.Read(&deny);
    model = kAnyModel;
  } else if (value.is_map()) {
    value.Map([&](YamlMap& map) { map.Required("deny").Read(&deny); });
  } else if (model == kAnyModel || IsGood(value, names.CheckCounted(model))) {
    ReadLimits(value, &(*limits)[std::string(model)], true);
  }
  if (deny) denied->emplace(model);
}

// `tenants` is not null if a party may name its tenant (an API key); `users` is not null if it may have users (a
// tenant).
void ReadParties(const YamlValue& parties, std::string_view what, YamlValue::Keys keys, const ModelNames& names,
                 std::map<std::string, LimitsByModel, std::less<>>* into, Denied* denied,
                 std::map<std::string, std::string, std::less<>>* tenants,
                 std::map<std::string, LimitsByUser, std::less<>>* users) {
  if (!parties) return;
  into->clear();
  denied->clear();
  if (tenants != nullptr) tenants->clear();
  if (users != nullptr) users->clear();
  const auto read = [&](std::string_view name, const YamlValue& models) {
    if (!IsGood(models, CheckPartyName(what, name))) return;
    const std::string party(name);
    LimitsByModel& by_model = (*into)[party];
    std::set<std::string, std::less<>> denied_to_it;
    models.Entries([&](std::string_view key, const YamlValue& value) {
      if (tenants != nullptr && key == "tenant") {
        std::string& tenant = (*tenants)[party];
        value.Read(&tenant);
        if (!tenant.empty()) NoteError(value, CheckOneName("tenant", tenant));
      } else if (users != nullptr && key == "users") {
        ReadUsers(value, &(*users)[party]);
      } else {
        ReadPartysModel(value, key, names, &by_model, &denied_to_it);
      }
    });
    if (!denied_to_it.empty()) denied->emplace(party, std::move(denied_to_it));
  };
  parties.Entries(read, keys);
}

void ReadTiers(const YamlValue& section, const ModelNames& names, TierRulesConfig* tiers) {
  section.Map([&](YamlMap& map) {
    if (const YamlValue defaults = map.Optional("default"))
      defaults.Map([&](YamlMap& limits) { ReadTierLimits(limits, &tiers->default_limits); });
    ReadModelClasses(map.Optional("classes"), names, &tiers->model_classes);
    ReadQosClasses(map.Optional("qos"), &tiers->qos_classes);
    ReadUsers(map.Optional("users"), &tiers->users);
    ReadParties(map.Optional("tenants"), "tenant", YamlValue::Keys::kNames, names, &tiers->tenants,
                &tiers->denied_tenants, nullptr, &tiers->tenant_users);
    ReadParties(map.Optional("api_keys"), "API key", YamlValue::Keys::kSecrets, names, &tiers->api_keys,
                &tiers->denied_api_keys, &tiers->api_key_tenants, nullptr);
  });
}

struct QuotaKey {
  std::string_view name;
  std::string_view unit;
  int64_t ModelQuota::*amount;
};
constexpr std::array<QuotaKey, 3> kQuotaKeys = {{
    {"max_rpm", "requests in a minute; 0: no limit", &ModelQuota::max_rpm},
    {"max_tpm", "tokens in a minute; 0: no limit", &ModelQuota::max_tpm},
    {"max_rpd", "requests in 24 h; 0: no limit", &ModelQuota::max_rpd},
}};

// Warns, because an operator who states one limit may believe that the profile's other limits still apply.
void WarnOfProfile(std::string_view model, const std::vector<const QuotaKey*>& missing,
                   std::vector<std::string>* warnings) {
  for (size_t i = 0; i < kProviders; ++i) {
    const auto provider = static_cast<Provider>(i);
    const std::span<const ProfileEntry> profile = ProfileOf(provider);
    const auto entry = std::ranges::find(profile, model, &ProfileEntry::model);
    if (entry == profile.end()) continue;
    for (const QuotaKey* key : missing) {
      const int64_t amount = entry->quota.*key->amount;
      if (amount == 0) continue;
      warnings->push_back(Printable(model) + ": " + std::string(key->name) +
                          " is not stated, and so there is no such limit; the profile of " +
                          std::string(NameOf(provider)) + " has " + std::to_string(amount));
    }
  }
}

// A name or pattern under `also`, with its model and its place in the file.
struct Claim {
  YamlValue at;
  std::string name;
  std::string model;
};

// Reads patterns ("gpt-4o-2*") and names that are counted as `model`.
void ReadAlso(const YamlValue& list, std::string_view model, QuotaConfig* config, std::vector<Claim>* claims) {
  if (!list) return;
  list.List([&](YamlValue item) {
    std::string name;
    item.Read(&name);
    if (name.empty() || !IsGood(item, AddAlias(name, model, config))) return;
    claims->push_back({.at = item, .name = std::move(name), .model = std::string(model)});
  });
}

void ReadModels(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings) {
  std::vector<Claim> claims;
  section.Entries([&](std::string_view model, YamlValue value) {
    if (!IsGood(value, CheckModelName(model))) return;
    ModelQuota quota;
    std::vector<const QuotaKey*> missing;
    bool deny = false;
    value.Map([&](YamlMap& map) {
      map.Optional("deny").Read(&deny);
      ReadAlso(map.Optional("also"), model, config, &claims);
      for (const QuotaKey& key : kQuotaKeys) {
        const YamlValue amount = map.Optional(key.name);
        if (!amount) missing.push_back(&key);
        amount.Read(&(quota.*key.amount), {.min = kAmounts.min, .max = kAmounts.max, .unit = key.unit});
      }
    });
    if (IsModelPattern(model)) NoteError(value, AddAlias(model, model, config));
    if (deny) config->denied_models.emplace(model);
    // A model that is only denied keeps the limits that it has elsewhere.
    if (deny && missing.size() == kQuotaKeys.size()) return;
    if (warnings != nullptr) WarnOfProfile(model, missing, warnings);
    config->quotas.insert_or_assign(std::string(model), quota);
  });
  for (const Claim& claim : claims) NoteError(claim.at, CheckAlias(claim.name, claim.model, *config));
}

void ReadPrices(const YamlValue& section, const ModelNames& names,
                std::map<std::string, ModelPrice, std::less<>>* prices) {
  if (!section) return;
  prices->clear();
  section.Entries([&](std::string_view model, const YamlValue& value) {
    if (!IsGood(value, CheckModelName(model))) return;
    if (model != kAnyModel && !IsGood(value, names.CheckCounted(model))) return;
    value.Map([&](YamlMap& map) {
      ModelPrice& price = (*prices)[std::string(model)];
      ReadMoney(map.Required("input"), 0, &price.input);
      ReadMoney(map.Required("output"), 0, &price.output);
    });
  });
}

// Warns, because an operator who limits money may believe that each model has a price.
void WarnOfPrices(const QuotaConfig& config, std::vector<std::string>* warnings) {
  if (config.prices.contains("*") || !HasLimitOf(Limit::Unit::kMoney, config.tiers)) return;
  warnings->push_back(
      "there are limits of money, and prices has no \"*\": a model that is not named there costs nothing");
}

void ReadProviders(const YamlValue& list, QuotaConfig* config) {
  if (!list) return;
  config->providers.clear();
  std::vector<std::pair<std::string, Provider>> words;
  for (size_t i = 0; i < kProviders; ++i)
    words.emplace_back(NameOf(static_cast<Provider>(i)), static_cast<Provider>(i));
  list.List([&](YamlValue item) { item.Read(&config->providers.emplace_back(), words); });
  config->no_profiles = config->providers.empty();
}

}  // namespace

void ReadQuotaSection(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings) {
  section.Map([&](YamlMap& map) {
    ReadProviders(map.Optional("providers"), config);
    map.Optional("unknown_models")
        .Read(&config->unknown_models, {{"allow", UnknownModels::kAllow}, {"refuse", UnknownModels::kRefuse}});
    map.Optional("when_store_away")
        .Read(&config->when_store_away, {{"refuse", WhenStoreAway::kRefuse}, {"allow", WhenStoreAway::kAllow}});
    ReadDuration(map.Optional("reservation_ttl"), kTtl, &config->reservation_ttl);
    map.Optional("shadow").Read(&config->shadow);
    if (const YamlValue zone = map.Optional("time_zone")) {
      zone.Read(&config->tiers.time_zone);
      NoteError(zone, Calendar::Of(config->tiers.time_zone).status());
    }
    ReadModels(map.Optional("models"), config, warnings);
    const ModelNames names(*config);
    ReadPrices(map.Optional("prices"), names, &config->prices);
    if (const YamlValue tiers = map.Optional("tiers")) ReadTiers(tiers, names, &config->tiers);
    if (warnings != nullptr) WarnOfPrices(*config, warnings);
  });
}

Status ReadQuotaConfig(const std::string& path, QuotaConfig* config,
                       const std::vector<std::string_view>& other_sections) {
  QuotaConfig read = *config;
  Status status = ReadYamlFile(path, [&](YamlMap& root) {
    if (const YamlValue section = root.Optional("quota")) ReadQuotaSection(section, &read);
    for (const std::string_view other : other_sections) root.Optional(other);
  });
  if (status.ok()) *config = std::move(read);
  return status;
}

}  // namespace weir
