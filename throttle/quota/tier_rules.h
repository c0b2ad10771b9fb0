// TierRules: which limits a request meets between the API gateway and the model router, and what they are.
//
//   tier         its count is for                     its limits come from the first that has any
//   user_model   the user in the tenant (else API     API key's override for the model, tenant's for the model,
//                key, else tenant), on the model      the model's class, the default
//   qos          the same, in a class                 the QoS class that the request names
//   model        the model, all users                 the model's class, the default
//   instance     the GPU instance, on the model       the model's class, the default
//
// They are checked in this order, the model's own quota right after `model`. A tier without limits, or of which the
// request does not say whose it is, is left out. An override replaces all limits of user_model; "*" is any model, and
// the model's own name comes before it. Who names an API key and no tenant is of the key's tenant, where it has one.
//
// Immutable; any number of threads.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/quota/limit.h"
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

  bool empty() const { return user.empty() && tenant.empty() && api_key.empty() && instance.empty() && qos.empty(); }
};
Status CheckRequester(const Requester& requester);

enum class Tier : uint8_t { kUserModel, kQos, kModel, kInstance };
inline constexpr size_t kTiers = 4;
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
struct ModelClass {
  std::string name;                 // not "other", which is the class of models that have none
  std::vector<std::string> models;  // no model is in two classes
  TierLimits limits;

  bool operator==(const ModelClass&) const = default;
};
inline constexpr size_t kMaxQosClasses = 16;
inline constexpr int64_t kMaxPriority = 1000;
struct QosClass {
  std::string name;
  int64_t priority = 1;  // passed on to whoever schedules; 1 is the most urgent
  Limits limits;

  bool operator==(const QosClass&) const = default;
};
using LimitsByModel = std::map<std::string, Limits, std::less<>>;  // "*": any
struct TierRulesConfig {
  TierLimits default_limits;
  std::vector<ModelClass> model_classes;
  std::vector<QosClass> qos_classes = DefaultQosClasses();
  std::map<std::string, LimitsByModel, std::less<>> tenants;
  std::map<std::string, LimitsByModel, std::less<>> api_keys;
  std::map<std::string, std::string, std::less<>> api_key_tenants;  // by key

  // premium, priority 1, 500 requests/h; standard, 2, 100; free, 3, 10.
  static std::vector<QosClass> DefaultQosClasses();

  bool operator==(const TierRulesConfig&) const = default;
};

// The tiers of one request. Keeps the keys that the charges point to, without asking for memory; so it stays where it
// is.
class TierPlan {
 public:
  TierPlan() {
  }  // NOLINT(modernize-use-equals-default): a default one would clear text_, which costs more than the plan
  TierPlan(const TierPlan&) = delete;
  TierPlan& operator=(const TierPlan&) = delete;

  std::span<const TierCharge> charges() const { return {charges_.data(), count_}; }
  size_t before_model() const { return before_model_; }
  Tier tier_of(size_t charge) const { return tiers_[charge]; }
  // Whose count it is, to be shown: its key, "user:alice", but for an API key.
  std::string_view party_of(size_t charge) const {
    const bool of_party = tiers_[charge] == Tier::kUserModel || tiers_[charge] == Tier::kQos;
    return of_party && party_is_secret_ ? "this API key" : charges_[charge].key;
  }
  std::optional<int64_t> priority() const { return priority_; }

 private:
  friend class TierRules;
  void Append(std::string_view text);
  void AppendName(std::string_view name);  // escaped
  void AppendParty(const Requester& requester);
  std::string_view EndKey();
  void Add(Tier tier, std::string_view key, const Limits& limits);

  // Tenant and user stand in two keys, a QoS class and an instance in one; an escaped name is three times as long.
  static constexpr size_t kMaxTextBytes = 7 * 3 * kMaxNameBytes;

  std::array<TierCharge, kTiers * kMaxLimits> charges_;
  std::array<Tier, kTiers * kMaxLimits> tiers_{};
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
  // Of an empty plan. The error names the name that is wrong, or the classes that there are.
  Status MakePlan(std::string_view model, const Requester& asking, TierPlan* plan) const;
  // The model's class, a bounded set of words: "other" where it has none.
  std::string_view ClassOf(std::string_view model) const;
  const TierRulesConfig& config() const { return config_; }

 private:
  const ModelClass* FindClass(std::string_view model) const;
  const QosClass* FindQos(std::string_view name) const;
  const Limits& UserLimits(std::string_view model, const Requester& requester, const ModelClass* of_model) const;
  Requester InItsTenant(const Requester& requester) const;
  static void PlanForParty(const Limits& user_model, const QosClass* qos, const Requester& requester, TierPlan* plan);

  const TierRulesConfig config_;
  bool empty_ = false;
  // Into config_.
  NameMap<const ModelClass*> class_of_;  // by model
  NameMap<const LimitsByModel*> tenants_;
  NameMap<const LimitsByModel*> api_keys_;
  NameMap<std::string_view> api_key_tenants_;
};

Status CheckTierRules(const TierRulesConfig& config);
// Its parts, for who can say where in a file they stand.
Status CheckLimit(const Limit& limit);
Status CheckLimits(const Limits& limits);
Status CheckModelClass(std::span<const ModelClass> before, const ModelClass& of_models);  // but for its limits
Status CheckQosClass(std::span<const QosClass> before, const QosClass& qos);              // but for its limits

}  // namespace weir
