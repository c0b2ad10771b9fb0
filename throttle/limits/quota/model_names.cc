#include "throttle/limits/quota/model_names.h"

#include <algorithm>
#include <functional>
#include <string>

#include "config/text/parse.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

ModelNames::ModelNames(const QuotaConfig& config) {
  for (const Provider provider : config.ProvidersThatHold())
    for (const ProfileEntry& entry : ProfileOf(provider))
      if (!config.aliases.contains(entry.model)) defaults_.Set(entry.model, entry.quota);
  for (const auto& [model, quota] : config.quotas) defaults_.Set(model, quota);
  for (const auto& [name, model] : config.aliases) {
    if (IsModelPattern(name)) {
      patterns_.emplace_back(ModelPattern(name), model);
    } else {
      aliases_.Set(name, model);
    }
  }
  std::ranges::stable_sort(patterns_, std::ranges::greater(), [](const auto& entry) { return entry.first.stated(); });
}

std::optional<std::string_view> ModelNames::ClaimantOf(std::string_view name) const {
  if (const std::string_view* model = aliases_.Find(name)) return *model;
  for (const auto& [pattern, model] : patterns_)
    if (pattern.Fits(name)) return model;
  return {};
}

Status ModelNames::CheckCounted(std::string_view name) const {
  if (defaults_.Find(name) != nullptr) return {};
  const std::optional<std::string_view> model = ClaimantOf(name);
  if (model && *model != name)
    return Status::Error("the model " + Printable(name) + " is counted as " + Printable(*model) +
                         ", so no request would meet this; name " + Printable(*model));
  if (!model && IsModelPattern(name))
    return Status::Error("the pattern " + Printable(name) +
                         " does not stand under models, so no request would meet this; name a model, or add the "
                         "pattern there");
  return {};
}

}  // namespace weir
