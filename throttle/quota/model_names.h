// ModelNames: the model as which the name in a request is counted, and what that model may use by default.
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
  explicit ModelNames(const QuotaConfig& config);  // `config` outlives it
  ModelNames(const ModelNames&) = delete;
  ModelNames& operator=(const ModelNames&) = delete;

  // The default quotas, from profiles and configuration, by model.
  const NameMap<ModelQuota>& defaults() const { return defaults_; }
  // Returns the same view if the name is counted as itself.
  std::string_view CountedAs(std::string_view name) const {
    return defaults_.Find(name) != nullptr ? name : ClaimantOf(name).value_or(name);
  }
  // Only for a name that is not in `defaults`.
  std::optional<std::string_view> ClaimantOf(std::string_view name) const;
  // Fails if no request is counted under this name, so that no request meets what a configuration says of it. The error
  // names the model as which it is counted.
  Status CheckCounted(std::string_view name) const;

 private:
  NameMap<ModelQuota> defaults_;
  // Names that the configuration claims, and the models that claim them.
  NameMap<std::string_view> aliases_;
  std::vector<std::pair<ModelPattern, std::string_view>> patterns_;  // the pattern with most of a name first
};

}  // namespace weir
