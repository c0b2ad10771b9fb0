// TierRules: finds the limits that apply to a request, in addition to its model's own quota. The request comes from an
// API gateway, which states the API key, the tenant and the user (Requester); each of these is a party. A tier consists
// of all limits whose counters are for the same kind of thing, such as a user on a model. If semicolons separate
// several lists in the last column, the first list that exists applies:
//
//   tier         its counter is for                   its limits
//   total        the API key, and the tenant, each    all limits of the key, and of the tenant, with `total: true`
//                with all its users                   under the model's name (they count this model) and under "*"
//                                                     (they count all models together)
//                the user in the tenant, over all     the tenant's for the user's name; the tenant's for "*";
//                models                               `users` for the user's name, only if the request has no
//                                                     tenant; `users` for "*", even if it has a tenant
//   user_model   the user in the tenant, on the       the API key's override for the model; the tenant's for the
//                model; without a user, the API       model; the limits of the model's class; the default
//                key or else the tenant
//   qos          as for user_model, in a QoS class;   the limits of the QoS class that the request names
//                requests without user, key and
//                tenant share one counter
//   model        the model, with all users            the limits of the model's class; the default
//   instance     the GPU instance, on the model       the limits of the model's class; the default
//
// The tiers are checked in this order; the model's own quota is checked right after `model`. A tier is left out if it
// has no limits, or if the request does not name what the tier needs: a party, an instance or, for `qos`, a class.
// Limits of a tenant or an API key for a model, unless they have `total: true`, are overrides: they replace the
// user_model limits of the model's class and of the default. In place of a model's name, "*" means any model; overrides
// under the model's own name take precedence over those under "*". Limits with `total: true` ("totals") replace
// nothing: those under the model's name and those under "*" apply in addition to all others.
//
// In place of the name of a tenant, an API key or a user, "*" means each one that the configuration does not name. An
// entry of `users` for a name concerns only users without a tenant.
//
// A request with an API key that has a tenant belongs to that tenant. If the request names another tenant, it is
// denied. If its usage is recorded all the same, it counts for the tenant of the key.
//
// The configuration may deny a class of models, a QoS class, a tenant, an API key, or a model for a tenant or an API
// key. A denied request is refused even if no limit is reached. Requests for several names may be counted as requests
// for one model (model_names.h). To deny a model, the configuration may state the name in the request, the name under
// which the request is counted, or a pattern. To limit a model, it must state the name under which the requests are
// counted.
//
// Thread-safe. A TierRules does not change after it is made.
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
#include "throttle/limits/quota/calendar.h"
#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/model_patterns.h"
#include "throttle/limits/quota/name_map.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// The requester, as the API gateway states it. An empty field is unknown. The texts of the views must outlive the
// Requester.
struct Requester {
  std::string_view user;
  std::string_view tenant;
  std::string_view api_key;
  std::string_view instance;
  std::string_view qos;
  // The address from which the request comes, or the network that counts as one client, such as a /64 of IPv6. No tier
  // uses it. If neither the key nor the tenant is in the configuration, NamingShares uses it to find out which client
  // invents names (naming_shares.h).
  std::string_view address = {};

  // Returns true if all fields except the address are unknown.
  bool empty() const { return user.empty() && tenant.empty() && api_key.empty() && instance.empty() && qos.empty(); }
};
// Returns an error if a name is malformed. Does not check `address`.
Status CheckRequester(const Requester& requester);

enum class Tier : uint8_t { kUserModel, kQos, kModel, kInstance, kTotal };
inline constexpr size_t kTiers = 5;
std::string_view NameOf(Tier tier);  // "user_model", …

// kMaxLimits is the most limits in one list (Limits). TierLimits has the limits of a class of models, or the default
// limits.
inline constexpr size_t kMaxLimits = 4;
using Limits = std::vector<Limit>;
struct TierLimits {
  Limits user_model;
  Limits model;
  Limits instance;

  bool operator==(const TierLimits&) const = default;
};

// A class of models. Metrics use its name as a label, so there may be only a few classes.
inline constexpr size_t kMaxModelClasses = 16;
inline constexpr std::string_view kOtherModelClass = "other";  // the class of a model that is in no other class
struct ModelClass {
  std::string name;  // must not be kOtherModelClass
  // No model may be in two classes. A class that is not denied may have only patterns that are configured as models.
  std::vector<std::string> models;
  TierLimits limits;
  bool deny = false;

  bool operator==(const ModelClass&) const = default;
};
inline constexpr size_t kMaxQosClasses = 16;
inline constexpr int64_t kMaxPriority = 1000;
struct QosClass {
  std::string name;
  int64_t priority = 1;  // for schedulers (Decision::priority): 1..kMaxPriority, 1 is the most urgent
  Limits limits;
  bool deny = false;

  bool operator==(const QosClass&) const = default;
};
inline constexpr std::string_view kAnyModel = "*";                 // in place of a model's name
using LimitsByModel = std::map<std::string, Limits, std::less<>>;  // overrides and totals, by model or kAnyModel
using LimitsByUser = std::map<std::string, Limits, std::less<>>;   // each limit counts all models together
inline constexpr size_t kMaxTotals = 2;                            // the most totals of a party for one model
// Denied models and patterns, by tenant or by API key.
using Denied = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
// In place of the name of a tenant, an API key or a user: each one that the configuration does not name.
inline constexpr std::string_view kEveryOther = "*";
struct TierRulesConfig {
  TierLimits default_limits;
  std::vector<ModelClass> model_classes;
  std::vector<QosClass> qos_classes = DefaultQosClasses();
  std::map<std::string, LimitsByModel, std::less<>> tenants;
  std::map<std::string, LimitsByModel, std::less<>> api_keys;
  std::map<std::string, std::string, std::less<>> api_key_tenants;  // the tenant of an API key
  // The limits of users without a tenant, by name. They do not apply to users of tenants, because each tenant may have
  // an "alice" of its own. Only those of kEveryOther also apply to a user of a tenant, if tenant_users has none for it.
  LimitsByUser users;
  std::map<std::string, LimitsByUser, std::less<>> tenant_users;  // the limits of a tenant's users
  Denied denied_tenants;
  Denied denied_api_keys;
  std::string time_zone = "UTC";  // for calendar days and months

  // Returns premium (priority 1, 500 requests/h), standard (priority 2, 100 requests/h) and free (priority 3, 10
  // requests/h).
  static std::vector<QosClass> DefaultQosClasses();

  bool operator==(const TierRulesConfig&) const = default;
};

// TierPlan: the limits that apply to one request, in the order in which they are checked. Each is a TierCharge
// (quota_store.h), which names its counter by a key such as "user:alice". The plan owns these keys, in a buffer inside
// the object, so that it needs heap memory only for names that must be escaped and for a denial. Therefore it cannot be
// moved. TierRules::MakePlan fills it, once.
class TierPlan {
 public:
  static constexpr std::string_view kTotalOfKey = "total:key:";
  // Returns the kind of party that the counter of a total is for: "key", "tenant" or "user". `key` is the key of the
  // charge.
  static std::string_view TotalOf(std::string_view key);

  // Does not initialise text_ and the room for charges, because clearing them would cost more than making the plan.
  TierPlan() {}  // NOLINT(modernize-use-equals-default)
  TierPlan(const TierPlan&) = delete;
  TierPlan& operator=(const TierPlan&) = delete;

  std::span<const TierCharge> charges() const { return {&charge(0), count_}; }
  size_t before_model() const { return before_model_; }  // how many of the charges come before the model's own quota
  Tier tier_of(size_t charge) const { return tiers_[charge]; }
  // Returns what the counter of a charge is for, in a form that people may see: the key of the counter, such as
  // "user:alice", or "this API key".
  std::string_view party_of(size_t charge) const {
    const std::string_view key = this->charge(charge).key;
    if (key.starts_with(kTotalOfKey)) return "this API key";
    const bool of_party = tiers_[charge] == Tier::kUserModel || tiers_[charge] == Tier::kQos;
    return of_party && party_is_secret_ ? "this API key" : key;
  }
  std::optional<int64_t> priority() const { return priority_; }  // the QoS class's; empty if the request names no class
  // Returns a text that says what is denied, and to which party; empty if TierRulesConfig does not deny the request.
  const std::string& denied() const { return denied_; }

 private:
  friend class TierRules;
  void Append(std::string_view text);
  void AppendName(std::string_view name);  // escaped
  void AppendParty(const Requester& requester);
  void AppendUser(const Requester& requester);  // with the tenant
  std::string_view EndKey();
  void Add(Tier tier, std::string_view key, const Limits& limits, bool of_all_models = false);
  const Calendar::Period& PeriodNow(Limit::Kind kind);

  const Calendar* calendar_ = nullptr;
  WallTime now_;
  Calendar::Period day_;  // set when it is first needed
  Calendar::Period month_;
  // The room for the keys of all counters. They contain at most ten names: tenant and user in each of the user's total,
  // user_model and qos; the class in qos; the instance; and the key and the tenant in their totals. The eleventh part
  // is for the texts between the names, such as "total:key:". An escaped name is up to three times as long as the name.
  static constexpr size_t kMaxTextBytes = 11 * 3 * kMaxNameBytes;
  // Each tier except `total` has at most kMaxLimits charges, and so have the totals of the user. The API key and the
  // tenant each have at most kMaxTotals totals for the model, and as many for all models.
  static constexpr size_t kMaxCharges = kTiers * kMaxLimits + 4 * kMaxTotals;

  const TierCharge& charge(size_t n) const {
    return *std::launder(reinterpret_cast<const TierCharge*>(charges_.data() + n * sizeof(TierCharge)));
  }

  static_assert(std::is_trivially_destructible_v<TierCharge>);
  alignas(TierCharge) std::array<std::byte, kMaxCharges * sizeof(TierCharge)> charges_;  // the first count_ exist
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
  // CheckTierRules must have accepted `config`.
  explicit TierRules(TierRulesConfig config = {});
  TierRules(const TierRules&) = delete;
  TierRules& operator=(const TierRules&) = delete;

  // Returns true if the configuration names no party, and has limits and denials only in its QoS classes. A request
  // with an empty Requester then needs no plan.
  bool empty() const { return empty_; }
  // Returns true if a limit is of a calendar day or month, so that MakePlan needs `now`.
  bool uses_calendar() const { return uses_calendar_; }
  // Fills a new plan. `model` is the name under which the request is counted; `sent` is the model name in the request
  // if it is another name, else empty. Returns an error if a name in `asking` is malformed, or if its QoS class does
  // not exist (the error names the classes that do). A denied request is not an error (TierPlan::denied).
  Status MakePlan(std::string_view model, const Requester& asking, TierPlan* plan, WallTime now = {},
                  std::string_view sent = {}) const;
  // Returns the name of the class that lists the model by its name, not by a pattern, or "other" if none does. The set
  // of these names is bounded, so metrics can use them.
  std::string_view ClassOf(std::string_view model) const;
  const TierRulesConfig& config() const { return config_; }

 private:
  // The settings of one tenant or API key: its overrides, totals, limits of a tenant's users, denied models, and the
  // tenant of a key.
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
  NameMap<const ModelClass*> class_of_;                                 // by model; points into config_
  std::vector<std::pair<const ModelClass*, ModelSet>> denied_classes_;  // points into config_
  const Parties sorted_tenants_;
  const Parties sorted_api_keys_;
  NameMap<const Party*> tenants_;   // points into sorted_tenants_
  NameMap<const Party*> api_keys_;  // points into sorted_api_keys_
};

// Returns an error if the configuration contradicts itself, or if a value is out of range. Does not check that models
// are named as they are counted; CheckQuotaConfig does.
Status CheckTierRules(const TierRulesConfig& config);
// Returns true if a limit in the configuration is of this unit.
bool HasLimitOf(Limit::Unit unit, const TierRulesConfig& config);
// The functions below check parts of the configuration, for callers that report the place of an error in a file.
Status CheckLimit(const Limit& limit);
// `of_party` is true for limits of a tenant or an API key; only those may have `total`.
Status CheckLimits(const Limits& limits, bool of_party = false);
// Returns an error unless `name` is valid as the name of a tenant, an API key or a user, or is kEveryOther. The error
// begins with `what`, and does not contain the name, which may be a secret.
Status CheckPartyName(std::string_view what, std::string_view name);
// Does the same, but does not accept kEveryOther.
Status CheckOneName(std::string_view what, std::string_view name);
Status CheckModelClass(std::span<const ModelClass> before, const ModelClass& of_models);  // does not check its limits
Status CheckQosClass(std::span<const QosClass> before, const QosClass& qos);              // does not check its limits
// Returns the first 4 bytes of an API key, to recognise it, and "…". Returns only "…" if the key has at most 8 bytes.
std::string BeginOfSecret(std::string_view secret);

}  // namespace weir
