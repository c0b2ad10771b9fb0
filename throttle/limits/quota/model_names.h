// ModelNames: finds the model under which a request is counted, and that model's default quota, from the model name in
// the request. The configuration may give a model other names, and patterns of other names (`also`,
// quota_config_reader.h). The first rule that applies decides:
//
//   A name with a quota in the configuration is counted as itself. So is a name with a quota in a profile (profiles.h),
//   unless it is another name of a model.
//   Another name of a model is counted as that model.
//   A name that fits a pattern is counted as the model that has the pattern, or as the pattern itself if the pattern is
//   configured as a model. If several patterns fit, the pattern with the most characters besides the '*' decides.
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

  // Returns the quotas of the configuration and of the profiles in use, by model. The store may have others, which take
  // precedence.
  const NameMap<ModelQuota>& defaults() const { return defaults_; }
  // Returns the name under which `name` is counted. The result is `name` itself, or a view into the configuration.
  std::string_view CountedAs(std::string_view name) const {
    return defaults_.Find(name) != nullptr ? name : ClaimantOf(name).value_or(name);
  }
  // Returns the claimant of `name`: the model of which it is another name, or else the model with the pattern that fits
  // it. Returns nothing if there is none. REQUIRES: `name` is not in defaults().
  std::optional<std::string_view> ClaimantOf(std::string_view name) const;
  // Returns an error if no request is counted under `name`, because limits or prices for it would then have no effect.
  // The error names the model under which `name` is counted, or says that the pattern `name` is not configured as a
  // model.
  Status CheckCounted(std::string_view name) const;

 private:
  NameMap<ModelQuota> defaults_;
  // Other names of models, with the model of each.
  NameMap<std::string_view> aliases_;
  // Patterns, with the model of each. The pattern with the most characters besides the '*' is first.
  std::vector<std::pair<ModelPattern, std::string_view>> patterns_;
};

}  // namespace weir
