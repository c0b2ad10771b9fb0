// TierRules: which limits a request meets between the API gateway and the model router, and what they are.
//
//   tier         its count is for                     its limits come from the first that has any
//   total        the API key, and the tenant, with    their own, if they say so: under a model's name on that
//                all their users                      model, under "*" over all models; all of them are met
//                the user in the tenant, over all     the tenant's for its users, the users'; each by name, else
//                models                               for "*"
//   user_model   the user in the tenant (else API     API key's override for the model, tenant's for the model,
//                key, else tenant), on the model      the model's class, the default
//   qos          the same, in a class; together       the QoS class that the request names
//                all anonymous requests
//   model        the model, all users                 the model's class, the default
//   instance     the GPU instance, on the model       the model's class, the default
//
// They are checked in this order, the model's own quota right after `model`. A tier is left out if it has no limits, or
// if the request does not say whose it is. An override replaces all limits of user_model; "*" is any model, and the
// model's own name comes before it. Totals are no override, and limit in addition.
//
// Limits under the name "*" of a tenant, an API key or a user are for each of those that are not named.
//
// A request with an API key that has a tenant belongs to that tenant: if it names another it is denied, and if it is
// counted all the same, it counts for the key's tenant.
//
// A class of models or of service, a tenant or an API key, or one of these on a model, may be denied: then no request
// goes, whatever is left of any limit. Denied models are named as a request may name them, as they are counted, or by a
// pattern; models with limits only as they are counted.
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

// The requester, as the API gateway found out. Empty: not said. Views: good for as long as the caller keeps the texts.
struct Requester {
  std::string_view user;
  std::string_view tenant;
  std::string_view api_key;
  std::string_view instance;
  std::string_view qos;
  // Origin of the request; no tier. It identifies a requester that names no tenant or key of the configuration.
  std::string_view address = {};

  bool empty() const { return user.empty() && tenant.empty() && api_key.empty() && instance.empty() && qos.empty(); }
};
Status CheckRequester(const Requester& requester);

enum class Tier : uint8_t { kUserModel, kQos, kModel, kInstance, kTotal };
inline constexpr size_t kTiers = 5;
std::string_view NameOf(Tier tier);  // "user_model", …

// Limits per tier, if a class of models or the default states them; at most kMaxLimits for each.
inline constexpr size_t kMaxLimits = 4;
using Limits = std::vector<Limit>;
struct TierLimits {
  Limits user_model;
  Limits model;
  Limits instance;

  bool operator==(const TierLimits&) const = default;
};

// A class is a label of the metrics, so there are few.
inline constexpr size_t kMaxModelClasses = 16;
inline constexpr std::string_view kOtherModelClass = "other";  // for models that have none
struct ModelClass {
  std::string name;                 // not kOtherModelClass
  std::vector<std::string> models;  // no model is in two classes; a denied class may also have patterns
  TierLimits limits;
  bool deny = false;

  bool operator==(const ModelClass&) const = default;
};
inline constexpr size_t kMaxQosClasses = 16;
inline constexpr int64_t kMaxPriority = 1000;
struct QosClass {
  std::string name;
  int64_t priority = 1;  // passed on for scheduling; 1 is the most urgent
  Limits limits;
  bool deny = false;

  bool operator==(const QosClass&) const = default;
};
inline constexpr std::string_view kAnyModel = "*";
using LimitsByModel = std::map<std::string, Limits, std::less<>>;  // the model's own name comes before kAnyModel
using LimitsByUser = std::map<std::string, Limits, std::less<>>;   // over all models
inline constexpr size_t kMaxTotals = 2;                            // among the limits of a party for a model
using Denied = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;  // models or patterns, by party
inline constexpr std::string_view kEveryOther = "*";  // in place of a tenant, an API key or a user
struct TierRulesConfig {
  TierLimits default_limits;
  std::vector<ModelClass> model_classes;
  std::vector<QosClass> qos_classes = DefaultQosClasses();
  std::map<std::string, LimitsByModel, std::less<>> tenants;
  std::map<std::string, LimitsByModel, std::less<>> api_keys;
  std::map<std::string, std::string, std::less<>> api_key_tenants;  // by key
  // A name here is a user without a tenant: each tenant may have an alice. kEveryOther is for users of tenants too.
  LimitsByUser users;
  std::map<std::string, LimitsByUser, std::less<>> tenant_users;  // by tenant
  Denied denied_tenants;
  Denied denied_api_keys;
  std::string time_zone = "UTC";  // for calendar days and months

  // premium, priority 1, 500 requests/h; standard, 2, 100; free, 3, 10.
  static std::vector<QosClass> DefaultQosClasses();

  bool operator==(const TierRulesConfig&) const = default;
};

// The tiers of one request. Keeps the keys that the charges point to, without allocating memory; so it cannot be moved.
class TierPlan {
 public:
  static constexpr std::string_view kTotalOfKey = "total:key:";
  // Returns the kind of a total, by its key: "key", "tenant" or "user".
  static std::string_view TotalOf(std::string_view key);

  // Clears neither text_ nor the room for charges, which would cost more than the plan.
  TierPlan() {}  // NOLINT(modernize-use-equals-default)
  TierPlan(const TierPlan&) = delete;
  TierPlan& operator=(const TierPlan&) = delete;

  std::span<const TierCharge> charges() const { return {&charge(0), count_}; }
  size_t before_model() const { return before_model_; }
  Tier tier_of(size_t charge) const { return tiers_[charge]; }
  // The party that the count is for, to be shown: its key, "user:alice"; an API key is not shown.
  std::string_view party_of(size_t charge) const {
    const std::string_view key = this->charge(charge).key;
    if (key.starts_with(kTotalOfKey)) return "this API key";
    const bool of_party = tiers_[charge] == Tier::kUserModel || tiers_[charge] == Tier::kQos;
    return of_party && party_is_secret_ ? "this API key" : key;
  }
  std::optional<int64_t> priority() const { return priority_; }
  // Says what the configuration denies, and to whom; empty: nothing.
  const std::string& denied() const { return denied_; }

 private:
  friend class TierRules;
  void Append(std::string_view text);
  void AppendName(std::string_view name);  // escaped
  void AppendParty(const Requester& requester);
  void AppendUser(const Requester& requester);  // with its tenant
  std::string_view EndKey();
  void Add(Tier tier, std::string_view key, const Limits& limits, bool of_all_models = false);
  const Calendar::Period& PeriodNow(Limit::Kind kind);

  const Calendar* calendar_ = nullptr;
  WallTime now_;
  Calendar::Period day_;  // set when it is first asked for
  Calendar::Period month_;
  // Tenant and user are in three keys; a QoS class, an instance, and the key and the tenant of totals are in one each.
  // An escaped name is up to three times as long.
  static constexpr size_t kMaxTextBytes = 11 * 3 * kMaxNameBytes;
  // Totals: for the API key and for the tenant, on the model and on all; and for the user.
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
  // `config` was checked for contradictions and values out of range (CheckTierRules).
  explicit TierRules(TierRulesConfig config = {});
  TierRules(const TierRules&) = delete;
  TierRules& operator=(const TierRules&) = delete;

  // True if no request can meet any tier but qos: then an empty Requester needs no plan.
  bool empty() const { return empty_; }
  // True if some limit is of a calendar day or month: then `now` matters.
  bool uses_calendar() const { return uses_calendar_; }
  // Fills an empty plan. `model` is the name as which it is counted; `sent` is its name in the request, if that is
  // another. The error names the name that is wrong, or the classes that exist.
  Status MakePlan(std::string_view model, const Requester& asking, TierPlan* plan, WallTime now = {},
                  std::string_view sent = {}) const;
  // The model's class, one of a bounded set of words: "other" if it has none.
  std::string_view ClassOf(std::string_view model) const;
  const TierRulesConfig& config() const { return config_; }

 private:
  // Settings of one tenant or API key, by kind: overrides, totals, limits of a tenant's users, denials, and a key's
  // tenant.
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
  // Pointers into config_.
  NameMap<const ModelClass*> class_of_;  // by model
  std::vector<std::pair<const ModelClass*, ModelSet>> denied_classes_;
  const Parties sorted_tenants_;
  const Parties sorted_api_keys_;
  NameMap<const Party*> tenants_;  // into the two above
  NameMap<const Party*> api_keys_;
};

// Does not check the names of models: a QuotaConfig says how they are counted.
Status CheckTierRules(const TierRulesConfig& config);
bool HasLimitOf(Limit::Unit unit, const TierRulesConfig& config);
// The parts of CheckTierRules, for callers that can say where in a file they stand.
Status CheckLimit(const Limit& limit);
Status CheckLimits(const Limits& limits, bool of_party = false);  // of_party: totals are allowed
// Accepts the name of a tenant, an API key or a user, or kEveryOther. The error does not repeat the name, which may be
// a secret.
Status CheckPartyName(std::string_view what, std::string_view name);
Status CheckOneName(std::string_view what, std::string_view name);                        // without kEveryOther
Status CheckModelClass(std::span<const ModelClass> before, const ModelClass& of_models);  // except its limits
Status CheckQosClass(std::span<const QosClass> before, const QosClass& qos);              // except its limits
// Returns enough of an API key to recognise it, but not enough to use it.
std::string BeginOfSecret(std::string_view secret);

}  // namespace weir
