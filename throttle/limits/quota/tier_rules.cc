#include "throttle/limits/quota/tier_rules.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

const TierLimits& NoLimits() {
  static const TierLimits none;
  return none;
}

const Limits& FirstOf(const Limits& of_class, const Limits& fallback) { return of_class.empty() ? fallback : of_class; }

Status UnknownQos(std::string_view name, const std::vector<QosClass>& classes) {
  std::vector<std::string> names;
  for (const QosClass& c : classes) names.push_back(c.name);
  return Status::Error("QoS class \"" + Printable(name) + "\": there is no such class, there " +
                       (names.empty() ? "are none" : "are " + Join(names, ", ")));
}

bool IsEmpty(const TierLimits& limits) {
  return limits.user_model.empty() && limits.model.empty() && limits.instance.empty();
}

// Returns true if `is` returns true for a limit of the configuration.
bool AnyLimit(const TierRulesConfig& config, const auto& is) {
  const auto in = [&](const Limits& limits) { return std::ranges::any_of(limits, is); };
  const auto in_tier = [&](const TierLimits& of) { return in(of.user_model) || in(of.model) || in(of.instance); };
  const auto in_lists = [&](const auto& lists) {
    return std::ranges::any_of(lists, [&](const auto& list) { return in(list.second); });
  };
  const auto in_parties = [&](const auto& parties) {
    return std::ranges::any_of(parties, [&](const auto& party) { return in_lists(party.second); });
  };
  return in_tier(config.default_limits) || in_lists(config.users) || in_parties(config.tenant_users) ||
         in_parties(config.tenants) || in_parties(config.api_keys) ||
         std::ranges::any_of(config.model_classes, in_tier, &ModelClass::limits) ||
         std::ranges::any_of(config.qos_classes, in, &QosClass::limits);
}

Limit HourlyRequests(int64_t amount) { return {.amount = amount, .per = std::chrono::hours(1)}; }

}  // namespace

std::string_view NameOf(Tier tier) {
  static constexpr std::array<std::string_view, kTiers> kNames = {"user_model", "qos", "model", "instance", "total"};
  return kNames[static_cast<size_t>(tier)];
}

std::vector<QosClass> TierRulesConfig::DefaultQosClasses() {
  return {{.name = "premium", .priority = 1, .limits = {HourlyRequests(500)}},
          {.name = "standard", .priority = 2, .limits = {HourlyRequests(100)}},
          {.name = "free", .priority = 3, .limits = {HourlyRequests(10)}}};
}

Status CheckRequester(const Requester& requester) {
  for (const auto& [what, name] : {std::pair("user", requester.user), std::pair("tenant", requester.tenant),
                                   std::pair("API key", requester.api_key), std::pair("instance", requester.instance),
                                   std::pair("QoS class", requester.qos)}) {
    if (name.empty()) continue;
    if (Status checked = CheckName(what, name); !checked.ok()) return checked;
  }
  return {};
}

void TierPlan::Append(std::string_view text) {
  assert(text_size_ + text.size() <= text_.size() && "the names were checked");
  std::ranges::copy(text, text_.begin() + static_cast<std::ptrdiff_t>(text_size_));
  text_size_ += text.size();
}

void TierPlan::AppendName(std::string_view name) {
  if (name.find_first_of("%:{}@") == std::string_view::npos) return Append(name);
  Append(EscapeName(name));
}

void TierPlan::AppendParty(const Requester& requester) {
  if (requester.user.empty() && !requester.api_key.empty()) {
    party_is_secret_ = true;
    Append("key:");
    return AppendName(requester.api_key);
  }
  AppendUser(requester);
}

void TierPlan::AppendUser(const Requester& requester) {
  if (!requester.tenant.empty()) {
    Append("tenant:");
    AppendName(requester.tenant);
    if (!requester.user.empty()) Append(":");
  }
  if (requester.user.empty()) return;
  Append("user:");
  AppendName(requester.user);
}

// Escaped names contain no ':'.
std::string_view TierPlan::TotalOf(std::string_view key) {
  if (key.starts_with(kTotalOfKey)) return "key";
  return key.find(":user:") == std::string_view::npos ? "tenant" : "user";
}

std::string_view TierPlan::EndKey() {
  const std::string_view key(text_.data() + key_begin_, text_size_ - key_begin_);
  key_begin_ = text_size_;
  return key;
}

void TierPlan::Add(Tier tier, std::string_view key, const Limits& limits, bool of_all_models) {
  for (const Limit& limit : limits) {
    assert(count_ < kMaxCharges && "the rules were checked");
    auto* const made = new (charges_.data() + count_ * sizeof(TierCharge))
        TierCharge{.key = key, .limit = limit, .of_all_models = of_all_models};
    if (IsOfCalendar(limit)) {
      const Calendar::Period& period = PeriodNow(limit.kind);
      made->limit.per = period.ends.time_since_epoch();
      made->limit.date = period.date;
    }
    tiers_[count_] = tier;
    ++count_;
  }
}

const Calendar::Period& TierPlan::PeriodNow(Limit::Kind kind) {
  const bool of_day = kind == Limit::Kind::kCalendarDay;
  Calendar::Period& period = of_day ? day_ : month_;
  if (period.date == 0) period = of_day ? calendar_->DayOf(now_) : calendar_->MonthOf(now_);
  return period;
}

TierRules::TierRules(TierRulesConfig config)
    : config_(std::move(config)),
      sorted_tenants_(Sorted(config_.tenants, config_.denied_tenants, config_.tenant_users, {})),
      sorted_api_keys_(Sorted(config_.api_keys, config_.denied_api_keys, {}, config_.api_key_tenants)) {
  empty_ =
      IsEmpty(config_.default_limits) && sorted_tenants_.empty() && sorted_api_keys_.empty() && config_.users.empty();
  uses_calendar_ = AnyLimit(config_, IsOfCalendar);
  if (uses_calendar_) {
    if (Result<Calendar> calendar = Calendar::Of(config_.time_zone); calendar.ok()) calendar_ = calendar.value();
  }
  for (const ModelClass& of_models : config_.model_classes) {
    empty_ = empty_ && IsEmpty(of_models.limits) && !of_models.deny;
    ModelSet denied;
    for (const std::string& model : of_models.models) {
      class_of_.Set(model, &of_models);
      denied.Add(model);
    }
    if (of_models.deny) denied_classes_.emplace_back(&of_models, std::move(denied));
  }
  for (const auto& [name, party] : sorted_tenants_) tenants_.Set(name, &party);
  for (const auto& [name, party] : sorted_api_keys_) api_keys_.Set(name, &party);
}

TierRules::Parties TierRules::Sorted(const std::map<std::string, LimitsByModel, std::less<>>& stated,
                                     const Denied& denied,
                                     const std::map<std::string, LimitsByUser, std::less<>>& users,
                                     const std::map<std::string, std::string, std::less<>>& tenants) {
  Parties parties;
  for (const auto& [name, by_model] : stated) {
    Party& party = parties[name];
    for (const auto& [model, limits] : by_model)
      for (const Limit& limit : limits) (limit.total ? party.totals : party.overrides)[model].push_back(limit);
  }
  for (const auto& [name, models] : denied)
    for (const std::string& model : models) parties[name].denied.Add(model);
  for (const auto& [name, by_user] : users) parties[name].users = by_user;
  for (const auto& [name, tenant] : tenants) parties[name].tenant = tenant;
  return parties;
}

const TierRules::Party* TierRules::FindParty(const NameMap<const Party*>& parties, std::string_view name) {
  if (name.empty()) return nullptr;
  const Party* const* found = parties.Find(name);
  if (found == nullptr) found = parties.Find(kEveryOther);
  return found != nullptr ? *found : nullptr;
}

const Limits* TierRules::FindOverride(const Party* party, std::string_view model) {
  if (party == nullptr) return nullptr;
  auto limits = party->overrides.find(model);
  if (limits == party->overrides.end()) limits = party->overrides.find(kAnyModel);
  return limits != party->overrides.end() ? &limits->second : nullptr;
}

void TierRules::PlanTotals(const Party* party, std::string_view kind, std::string_view name, std::string_view model,
                           TierPlan* plan) {
  if (party == nullptr || party->totals.empty()) return;
  plan->Append("total:");
  plan->Append(kind);
  plan->Append(":");
  plan->AppendName(name);
  const std::string_view key = plan->EndKey();
  if (const auto all = party->totals.find(kAnyModel); all != party->totals.end())
    plan->Add(Tier::kTotal, key, all->second, true);
  if (const auto one = party->totals.find(model); one != party->totals.end() && model != kAnyModel)
    plan->Add(Tier::kTotal, key, one->second);
}

void TierRules::PlanTotalOfUser(const Party* tenant, const Requester& requester, TierPlan* plan) const {
  if (requester.user.empty()) return;
  const auto find = [](const LimitsByUser& users, std::string_view name) {
    const auto found = users.find(name);
    return found != users.end() ? &found->second : nullptr;
  };
  const Limits* limits = nullptr;
  if (tenant != nullptr) {
    limits = find(tenant->users, requester.user);
    if (limits == nullptr) limits = find(tenant->users, kEveryOther);
  }
  if (limits == nullptr && requester.tenant.empty()) limits = find(config_.users, requester.user);
  if (limits == nullptr) limits = find(config_.users, kEveryOther);
  if (limits == nullptr) return;
  plan->Append("total:");
  plan->AppendUser(requester);
  plan->Add(Tier::kTotal, plan->EndKey(), *limits, true);
}

std::string TierRules::FindDenied(std::string_view model, std::string_view sent, const QosClass* qos, const Party* key,
                                  const Party* tenant, std::string_view tenant_name) const {
  const auto in = [&](const ModelSet& denied) {
    return !denied.empty() && (denied.Contains(model) || (!sent.empty() && denied.Contains(sent)));
  };
  for (const auto& [of_models, models] : denied_classes_)
    if (in(models)) return "models of the class " + Printable(of_models->name) + " are denied";
  if (key != nullptr && in(key->denied)) return "denied to this API key";
  if (tenant != nullptr && in(tenant->denied)) return "denied to the tenant " + Printable(tenant_name);
  if (qos != nullptr && qos->deny) return "denied to the QoS class " + Printable(qos->name);
  return {};
}

const ModelClass* TierRules::FindClass(std::string_view model) const {
  const ModelClass* const* found = class_of_.Find(model);
  return found != nullptr ? *found : nullptr;
}

std::string_view TierRules::ClassOf(std::string_view model) const {
  const ModelClass* found = FindClass(model);
  return found != nullptr ? std::string_view(found->name) : kOtherModelClass;
}

const QosClass* TierRules::FindQos(std::string_view name) const {
  const auto found = std::ranges::find(config_.qos_classes, name, &QosClass::name);
  return found == config_.qos_classes.end() ? nullptr : &*found;
}

const Limits& TierRules::UserLimits(std::string_view model, const Party* key, const Party* tenant,
                                    const ModelClass* of_model) const {
  if (const Limits* limits = FindOverride(key, model)) return *limits;
  if (const Limits* limits = FindOverride(tenant, model)) return *limits;
  return FirstOf(of_model != nullptr ? of_model->limits.user_model : NoLimits().user_model,
                 config_.default_limits.user_model);
}

Status TierRules::MakePlan(std::string_view model, const Requester& asking, TierPlan* plan, WallTime now,
                           std::string_view sent) const {
  if (Status checked = CheckRequester(asking); !checked.ok()) return checked;
  plan->calendar_ = &calendar_;
  plan->now_ = now;
  const Party* key = FindParty(api_keys_, asking.api_key);
  Requester requester = asking;
  if (key != nullptr && !key->tenant.empty()) requester.tenant = key->tenant;
  const QosClass* qos = nullptr;
  if (!requester.qos.empty()) {
    qos = FindQos(requester.qos);
    if (qos == nullptr) return UnknownQos(requester.qos, config_.qos_classes);
    plan->priority_ = qos->priority;
  }
  const ModelClass* of_model = FindClass(model);
  const Party* tenant = FindParty(tenants_, requester.tenant);
  plan->denied_ = FindDenied(model, sent, qos, key, tenant, requester.tenant);
  if (!asking.tenant.empty() && asking.tenant != requester.tenant)
    plan->denied_ = "denied to this API key for another tenant than its own";
  PlanTotals(key, "key", requester.api_key, model, plan);
  PlanTotals(tenant, "tenant", requester.tenant, model, plan);
  PlanTotalOfUser(tenant, requester, plan);
  PlanForParty(UserLimits(model, key, tenant, of_model), qos, requester, plan);
  const TierLimits& of_class = of_model != nullptr ? of_model->limits : NoLimits();
  plan->Add(Tier::kModel, "model", FirstOf(of_class.model, config_.default_limits.model));
  plan->before_model_ = plan->count_;
  if (requester.instance.empty()) return {};
  const Limits& limits = FirstOf(of_class.instance, config_.default_limits.instance);
  if (limits.empty()) return {};
  plan->Append("instance:");
  plan->AppendName(requester.instance);
  plan->Add(Tier::kInstance, plan->EndKey(), limits);
  return {};
}

void TierRules::PlanForParty(const Limits& user_model, const QosClass* qos, const Requester& requester,
                             TierPlan* plan) {
  const bool nobody = requester.user.empty() && requester.api_key.empty() && requester.tenant.empty();
  if (!user_model.empty() && !nobody) {
    plan->AppendParty(requester);
    plan->Add(Tier::kUserModel, plan->EndKey(), user_model);
  }
  if (qos == nullptr || qos->limits.empty()) return;
  plan->Append("qos:");
  plan->AppendName(qos->name);
  plan->Append(":");
  // Requests that name no user, key or tenant share one counter, so that the limits of the class apply to them, too.
  if (nobody) plan->Append("nobody");
  plan->AppendParty(requester);
  plan->Add(Tier::kQos, plan->EndKey(), qos->limits);
}

bool HasLimitOf(Limit::Unit unit, const TierRulesConfig& config) {
  return AnyLimit(config, [&](const Limit& limit) { return limit.unit == unit; });
}

}  // namespace weir
