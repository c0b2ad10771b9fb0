// TierRules: which limits a request meets between the API gateway and the model router, and what they are.
//
//   tier         its count is for                     its limits come from the first that has any
//   total        the API key, and the tenant, with    their own, where they say so: under a model's name on that
//                all their users                      model, under "*" over all models; all of them are met
//                the user in the tenant, over all     the tenant's for its users, the users'; each by name, else
//                models                               for "*"
//   user_model   the user in the tenant (else API     API key's override for the model, tenant's for the model,
//                key, else tenant), on the model      the model's class, the default
//   qos          the same, in a class; together       the QoS class that the request names
//                all who name nobody
//   model        the model, all users                 the model's class, the default
//   instance     the GPU instance, on the model       the model's class, the default
//
// They are checked in this order, the model's own quota right after `model`. A tier without limits, or of which the
// request does not say whose it is, is left out. An override replaces all limits of user_model; "*" is any model, and
// the model's own name comes before it. Totals are no override, and limit in addition.
//
// What stands under the name "*" of a tenant, an API key or a user is for each of those that are not named.
//
// A request with an API key that has a tenant is of that tenant: one that names another is denied, and counts for the
// key's where it is counted all the same.
//
// A class of models or of service, a tenant or an API key, or one of these on a model, may be denied: then nothing
// goes, whatever is left of any limit. Models that are denied are named as a request may name them, or as they are
// counted, or by a pattern; a model that has limits only as it is counted.
//
// Immutable; any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/status.h"
#include "throttle/quota/calendar.h"
#include "throttle/quota/limit.h"
#include "throttle/quota/model_patterns.h"
#include "throttle/quota/name_map.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Who asks, as the API gateway found out. Empty: not said. Views: good for as long as the caller keeps the texts.
struct Requester {
  std::string_view user;
  std::string_view tenant;
  std::string_view api_key;
  std::string_view instance;
  std::string_view qos;
  // Where the request came from; no tier. Whoever names no tenant or key of the configuration is known by it.
  std::string_view address = {};

  bool empty() const { return user.empty() && tenant.empty() && api_key.empty() && instance.empty() && qos.empty(); }
};
Status CheckRequester(const Requester& requester);

enum class Tier : uint8_t { kUserModel, kQos, kModel, kInstance, kTotal };
inline constexpr size_t kTiers = 5;
std::string_view NameOf(Tier tier);  // "user_model", …

// Limits per tier, where a class of models or the default states them; at most kMaxLimits for each.
inline constexpr size_t kMaxLimits = 4;
using Limits = std::vector<Limit>;
struct TierLimits {
  Limits user_model;
  Limits model;
  Limits instance;

  bool operator==(const TierLimits&) const = default;
};

// One of them is a label of the metrics, so there are few.
inline constexpr size_t kMaxModelClasses = 16;
inline constexpr std::string_view kOtherModelClass = "other";  // of models that have none
struct ModelClass {
  std::string name;                 // not kOtherModelClass
  std::vector<std::string> models;  // no model is in two classes; of a class that is denied, also patterns
  TierLimits limits;
  bool deny = false;

  bool operator==(const ModelClass&) const = default;
};
inline constexpr size_t kMaxQosClasses = 16;
inline constexpr int64_t kMaxPriority = 1000;
struct QosClass {
  std::string name;
  int64_t priority = 1;  // passed on to whoever schedules; 1 is the most urgent
  Limits limits;
  bool deny = false;

  bool operator==(const QosClass&) const = default;
};
inline constexpr std::string_view kAnyModel = "*";
using LimitsByModel = std::map<std::string, Limits, std::less<>>;  // kAnyModel comes after the model's own
using LimitsByUser = std::map<std::string, Limits, std::less<>>;   // over all models
inline constexpr size_t kMaxTotals = 2;                            // among the limits of a party for a model
using Denied = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;  // models or patterns, by party
inline constexpr std::string_view kEveryOther = "*";  // in the place of a tenant, an API key or a user
struct TierRulesConfig {
  TierLimits default_limits;
  std::vector<ModelClass> model_classes;
  std::vector<QosClass> qos_classes = DefaultQosClasses();
  std::map<std::string, LimitsByModel, std::less<>> tenants;
  std::map<std::string, LimitsByModel, std::less<>> api_keys;
  std::map<std::string, std::string, std::less<>> api_key_tenants;  // by key
  // By name those alone who name no tenant, or one's users: each tenant may have an alice.
  LimitsByUser users;
  std::map<std::string, LimitsByUser, std::less<>> tenant_users;  // by tenant
  Denied denied_tenants;
  Denied denied_api_keys;
  std::string time_zone = "UTC";  // of calendar days and months

  // premium, priority 1, 500 requests/h; standard, 2, 100; free, 3, 10.
  static std::vector<QosClass> DefaultQosClasses();

  bool operator==(const TierRulesConfig&) const = default;
};

// The tiers of one request. Keeps the keys that the charges point to, without asking for memory; so it stays where it
// is.
class TierPlan {
 public:
  static constexpr std::string_view kTotalOfKey = "total:key:";
  // Of a total, by its key: "key", "tenant" or "user".
  static std::string_view TotalOf(std::string_view key);

  // Clears neither text_ nor the room for charges, which would cost more than the plan.
  TierPlan() {}  // NOLINT(modernize-use-equals-default)
  TierPlan(const TierPlan&) = delete;
  TierPlan& operator=(const TierPlan&) = delete;

  std::span<const TierCharge> charges() const { return {&charge(0), count_}; }
  size_t before_model() const { return before_model_; }
  Tier tier_of(size_t charge) const { return tiers_[charge]; }
  // Whose count it is, to be shown: its key, "user:alice", but for an API key.
  std::string_view party_of(size_t charge) const {
    const std::string_view key = this->charge(charge).key;
    if (key.starts_with(kTotalOfKey)) return "this API key";
    const bool of_party = tiers_[charge] == Tier::kUserModel || tiers_[charge] == Tier::kQos;
    return of_party && party_is_secret_ ? "this API key" : key;
  }
  std::optional<int64_t> priority() const { return priority_; }
  // What the configuration denies to whom; empty: nothing.
  const std::string& denied() const { return denied_; }

 private:
  friend class TierRules;
  void Append(std::string_view text);
  void AppendName(std::string_view name);  // escaped
  void AppendParty(const Requester& requester);
  void AppendUser(const Requester& requester);  // in its tenant
  std::string_view EndKey();
  void Add(Tier tier, std::string_view key, const Limits& limits, bool of_all_models = false);
  const Calendar::Period& PeriodNow(Limit::Kind kind);

  const Calendar* calendar_ = nullptr;
  WallTime now_;
  Calendar::Period day_;  // once it was asked for
  Calendar::Period month_;
  // Tenant and user stand in three keys, a QoS class, an instance, and the key and the tenant of totals in one; an
  // escaped name is three times as long.
  static constexpr size_t kMaxTextBytes = 11 * 3 * kMaxNameBytes;
  // Totals: of the API key and of the tenant, on the model and on all; and of the user.
  static constexpr size_t kMaxCharges = kTiers * kMaxLimits + 4 * kMaxTotals;

  const TierCharge& charge(size_t n) const {
    return *std::launder(reinterpret_cast<const TierCharge*>(charges_.data() + n * sizeof(TierCharge)));
  }

  static_assert(std::is_trivially_destructible_v<TierCharge>);
  alignas(TierCharge) std::array<std::byte, kMaxCharges * sizeof(TierCharge)> charges_;  // the first count_ are made
  std::array<Tier, kMaxCharges> tiers_{};
  std::string denied_;
  size_t count_ = 0;
  size_t before_model_ = 0;
  std::optional<int64_t> priority_;
  bool party_is_secret_ = false;
  size_t key_begin_ = 0;
  size_t text_size_ = 0;
  std::array<char, kMaxTextBytes> text_;
};

class TierRules {
 public:
  // Contradictions and values out of range were refused by who made the configuration (CheckTierRules).
  explicit TierRules(TierRulesConfig config = {});
  TierRules(const TierRules&) = delete;
  TierRules& operator=(const TierRules&) = delete;

  // True where no request can meet any tier but qos: no plan is needed for those that name nobody.
  bool empty() const { return empty_; }
  // Some limit is of a calendar day or month: `now` matters.
  bool uses_calendar() const { return uses_calendar_; }
  // Of an empty plan. The model is named as it is counted; `sent` is its name in the request, where that is another.
  // The error names the name that is wrong, or the classes that there are.
  Status MakePlan(std::string_view model, const Requester& asking, TierPlan* plan, WallTime now = {},
                  std::string_view sent = {}) const;
  // The model's class, a bounded set of words: "other" where it has none.
  std::string_view ClassOf(std::string_view model) const;
  const TierRulesConfig& config() const { return config_; }

 private:
  // What was stated of a tenant or an API key, apart: overrides, totals, those of a tenant's users, what is denied, and
  // a key's tenant.
  struct Party {
    LimitsByModel overrides;
    LimitsByModel totals;
    LimitsByUser users;
    ModelSet denied;
    std::string tenant;
  };
  using Parties = std::map<std::string, Party, std::less<>>;

  const ModelClass* FindClass(std::string_view model) const;
  const QosClass* FindQos(std::string_view name) const;
  const Limits& UserLimits(std::string_view model, const Party* key, const Party* tenant,
                           const ModelClass* of_model) const;
  static Parties Sorted(const std::map<std::string, LimitsByModel, std::less<>>& stated, const Denied& denied,
                        const std::map<std::string, LimitsByUser, std::less<>>& users,
                        const std::map<std::string, std::string, std::less<>>& tenants);
  static const Party* FindParty(const NameMap<const Party*>& parties, std::string_view name);
  static const Limits* FindOverride(const Party* party, std::string_view model);
  static void PlanTotals(const Party* party, std::string_view kind, std::string_view name, std::string_view model,
                         TierPlan* plan);
  void PlanTotalOfUser(const Party* tenant, const Requester& requester, TierPlan* plan) const;
  std::string FindDenied(std::string_view model, std::string_view sent, const QosClass* qos, const Party* key,
                         const Party* tenant, std::string_view tenant_name) const;
  static void PlanForParty(const Limits& user_model, const QosClass* qos, const Requester& requester, TierPlan* plan);

  const TierRulesConfig config_;
  bool empty_ = false;
  bool uses_calendar_ = false;
  Calendar calendar_;
  // Into config_.
  NameMap<const ModelClass*> class_of_;  // by model
  std::vector<std::pair<const ModelClass*, ModelSet>> denied_classes_;
  const Parties sorted_tenants_;
  const Parties sorted_api_keys_;
  NameMap<const Party*> tenants_;  // into the two before
  NameMap<const Party*> api_keys_;
};

// But for the names of models, of which a QuotaConfig says how they are counted.
Status CheckTierRules(const TierRulesConfig& config);
bool HasLimitOf(Limit::Unit unit, const TierRulesConfig& config);
// Its parts, for who can say where in a file they stand.
Status CheckLimit(const Limit& limit);
Status CheckLimits(const Limits& limits, bool of_party = false);  // of a party: there may be totals among them
// Of a tenant, an API key or a user: a name, or kEveryOther. The error does not say the name, which may be a secret.
Status CheckPartyName(std::string_view what, std::string_view name);
Status CheckOneName(std::string_view what, std::string_view name);                        // no kEveryOther
Status CheckModelClass(std::span<const ModelClass> before, const ModelClass& of_models);  // but for its limits
Status CheckQosClass(std::span<const QosClass> before, const QosClass& qos);              // but for its limits
// Enough of an API key to find it again by, and not enough to use it.
std::string BeginOfSecret(std::string_view secret);

}  // namespace weir
