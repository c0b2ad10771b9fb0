// ModelNames: as which model the name in a request is counted, and what that model may use where nobody says otherwise.
//
//   an exact name that has a quota of its own: as itself; a profile's too, unless another model claims it with `also`
//   else a name that a model claims: as that model
//   else by the pattern that states most of the name: as the model that claims it, or as the pattern itself
//   else as itself
//
// Immutable; any number of threads.
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
  explicit ModelNames(const QuotaConfig& config);  // which outlives it
  ModelNames(const ModelNames&) = delete;
  ModelNames& operator=(const ModelNames&) = delete;

  // The quotas of profiles and configuration, by model.
  const NameMap<ModelQuota>& defaults() const { return defaults_; }
  // The same view where it is counted as itself.
  std::string_view CountedAs(std::string_view name) const {
    return defaults_.Find(name) != nullptr ? name : ClaimantOf(name).value_or(name);
  }
  // Of a name that is none of `defaults`.
  std::optional<std::string_view> ClaimantOf(std::string_view name) const;
  // Whether requests are counted under this name. What a configuration says of any other is met by none: the error
  // says which name is.
  Status CheckCounted(std::string_view name) const;

 private:
  NameMap<ModelQuota> defaults_;
  // Names of the configuration, and the models that claim them.
  NameMap<std::string_view> aliases_;
  std::vector<std::pair<ModelPattern, std::string_view>> patterns_;  // that with most of a name first
};

}  // namespace weir
