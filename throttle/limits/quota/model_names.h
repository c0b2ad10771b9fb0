// ModelNames: finds the model under which a request is counted, and that model's default quota, from the model name in
// the request. The configuration may give a model other names and patterns of names (`also`, quota_config_reader.h);
// the model "claims" them. The first rule that applies decides:
//
//   A name with a quota of its own is counted as itself. A profile's quota (profiles.h) does not suffice if a model
//   claims the name.
//   A name that a model claims is counted as that model.
//   A name that fits a pattern is counted as the model that claims the pattern, or as the pattern itself if the pattern
//   is configured as a model. If several patterns fit, the pattern with the most characters besides the '*' decides.
//   Any other name is counted as itself.
//
// Thread-safe. A ModelNames does not change after it is made.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "throttle/limits/quota/model_patterns.h"
#include "throttle/limits/quota/name_map.h"
#include "throttle/limits/quota/quota.h"

namespace weir {

struct QuotaConfig;

class ModelNames {
 public:
  // `config` must outlive this object.
  explicit ModelNames(const QuotaConfig& config);
  ModelNames(const ModelNames&) = delete;
  ModelNames& operator=(const ModelNames&) = delete;

  // Returns the quotas of the configuration and of the profiles, by model. The store may have others, which take
  // precedence.
  const NameMap<ModelQuota>& defaults() const { return defaults_; }
  // Returns the name under which `name` is counted. The result is `name` itself, or a view into the configuration.
  std::string_view CountedAs(std::string_view name) const {
    return defaults_.Find(name) != nullptr ? name : ClaimantOf(name).value_or(name);
  }
  // Returns the model that claims `name`, or nothing if no model does. REQUIRES: `name` is not in defaults().
  std::optional<std::string_view> ClaimantOf(std::string_view name) const;
  // Returns an error if no request is counted under `name`, because limits or prices for it would then have no effect.
  // The error names the model under which `name` is counted, or says that the pattern `name` is not configured as a
  // model.
  Status CheckCounted(std::string_view name) const;

 private:
  NameMap<ModelQuota> defaults_;
  // The names that models claim, with the model of each.
  NameMap<std::string_view> aliases_;
  // The patterns that models claim, with the model of each. The pattern with the most characters besides the '*' is
  // first.
  std::vector<std::pair<ModelPattern, std::string_view>> patterns_;
};

}  // namespace weir
