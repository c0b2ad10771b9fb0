// ModelNames: finds the model under which a request is counted, and that model's default quota, from the name in the
// request. In the configuration a model can claim other names, and patterns of names (`also`, quota_config_reader.h).
// The first rule that applies decides:
//
//   a name that has a quota of its own is counted as itself; a profile's quota (profiles.h) does not suffice if a model
//   claims the name
//   a name that a model claims is counted as that model
//   a name that fits a pattern is counted as the model that claims the pattern, or as the pattern if that is configured
//   as a model; of several patterns, the one with most characters besides the '*' decides
//   any other name is counted as itself
//
// Threads: any. A ModelNames does not change.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "throttle/quota/model_patterns.h"
#include "throttle/quota/name_map.h"
#include "throttle/quota/quota.h"

namespace weir {

struct QuotaConfig;

class ModelNames {
 public:
  // `config` must outlive this object.
  explicit ModelNames(const QuotaConfig& config);
  ModelNames(const ModelNames&) = delete;
  ModelNames& operator=(const ModelNames&) = delete;

  // Returns the quotas of the configuration and of the profiles, by model. A store may have others.
  const NameMap<ModelQuota>& defaults() const { return defaults_; }
  // Returns the name under which `name` is counted: the same view, or one into the configuration.
  std::string_view CountedAs(std::string_view name) const {
    return defaults_.Find(name) != nullptr ? name : ClaimantOf(name).value_or(name);
  }
  // Returns the model that claims `name`; empty: none does. Only for a name that is not in defaults().
  std::optional<std::string_view> ClaimantOf(std::string_view name) const;
  // Returns an error if no request is counted under `name`, so that limits or prices for it would have no effect. The
  // error names the model under which `name` is counted, or says that the pattern is not configured as a model.
  Status CheckCounted(std::string_view name) const;

 private:
  NameMap<ModelQuota> defaults_;
  // Names that models claim, and the model of each.
  NameMap<std::string_view> aliases_;
  // Patterns that models claim, and the model of each. The pattern with most characters besides the '*' is first.
  std::vector<std::pair<ModelPattern, std::string_view>> patterns_;
};

}  // namespace weir
