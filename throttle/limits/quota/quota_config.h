// QuotaConfig: all that an operator can configure about a QuotaLimiter. quota_config_reader.h reads it from YAML.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/limits/quota/profiles.h"
#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/tier_rules.h"

namespace weir {

// The decision on requests for models that have no known quota.
enum class UnknownModels : uint8_t { kAllow, kRefuse };
// The decision on requests while the store does not answer: refuse them (fail closed) or allow them (fail open).
enum class WhenStoreAway : uint8_t { kRefuse, kAllow };

// The price of a million tokens, in millionths of the unit of money (kMoneyUnit).
struct ModelPrice {
  int64_t input = 0;
  int64_t output = 0;

  bool operator==(const ModelPrice&) const = default;
};
// The tokens of one call; `output` of them are the model's output. If `output` is empty, each token costs the higher of
// the two prices.
struct TokenUse {
  int64_t tokens = 0;  // negative if an argument of Of was negative
  std::optional<int64_t> output = {};

  static TokenUse Of(int64_t prompt_tokens, int64_t output_tokens);
};
// Returns the cost in millionths of the unit of money, rounded up, but at most kMostAmount.
int64_t CostOf(const ModelPrice& price, const TokenUse& use);

struct QuotaConfig {
  // The providers whose profiles (profiles.h) give a quota to each model for which neither `quotas` nor the store has
  // one. If `providers` and `quotas` are both empty and no_profiles is false, Gemini's profile applies.
  std::vector<Provider> providers;
  bool no_profiles = false;
  // Quotas by model. QuotaLimiter::StateQuotas writes them to the store when they have changed. The quotas that were
  // written last apply to all processes that share the store. If the store has no quota for a model, this process uses
  // the quota in this map.
  std::map<std::string, ModelQuota, std::less<>> quotas;
  // Other names of configured models, and patterns of names with one '*'; the value is the model. A request for such a
  // name, or for a name that fits, is counted as a request for that model (model_names.h). AddAlias adds entries.
  std::map<std::string, std::string, std::less<>> aliases;
  // Prices by the name under which a model is counted; "*" is the price of all other models. A model without a price is
  // free.
  std::map<std::string, ModelPrice, std::less<>> prices;
  // Names and patterns of models that are denied to all requesters, whatever their limits. A request is denied if its
  // model name, or the name under which it is counted, is in this set or fits a pattern in this set. A pattern denies a
  // model even if another part of the configuration has the exact name of the model.
  std::set<std::string, std::less<>> denied_models;
  // True: StateQuotas also withdraws quotas that an earlier configuration has written to the store, even in another
  // process, and that `quotas` no longer has. False: it withdraws only quotas that this limiter has written.
  bool withdraws_others = false;
  UnknownModels unknown_models = UnknownModels::kAllow;
  WhenStoreAway when_store_away = WhenStoreAway::kRefuse;
  Duration reservation_ttl = std::chrono::minutes(10);  // 1 s .. 24 h; used if a request states none
  // Shadow mode: the limiter decides and counts, but refuses only malformed requests (kInvalidTokens, kInvalidName) and
  // reused idempotency keys (kKeyReused). It also counts the requests that it would otherwise refuse, so that the usage
  // is the real one.
  bool shadow = false;
  TierRulesConfig tiers;

  // Returns the providers whose profiles apply: `providers`, or Gemini if the rule above applies.
  std::vector<Provider> ProvidersThatHold() const;
  bool operator==(const QuotaConfig&) const = default;
};
// Returns an error if the configuration contradicts itself, or if a value is out of range. A QuotaLimiter needs a
// configuration that passes this check. ReadQuotaSection makes the same checks, and reports errors at their places in
// the file.
Status CheckQuotaConfig(const QuotaConfig& config);
// Makes `name`, which may be a pattern, another name of `model`. Returns an error, and changes nothing, if `name` is
// malformed, if it is already another name of a different model, or if it equals `model` and is not a pattern.
Status AddAlias(std::string_view name, std::string_view model, QuotaConfig* config);
// Checks an alias that AddAlias has added. The caller must have added all models to `config` before. Returns an error
// if `name` has a quota of its own, so that the alias would apply to no request, or if `model` is itself counted as
// another model.
Status CheckAlias(std::string_view name, std::string_view model, const QuotaConfig& config);
// Returns true if the configuration has a limit that counts all models together.
bool CountsAcrossModels(const QuotaConfig& config);

}  // namespace weir
