// The JSON of the API's answers (relay/limiters/openapi.json).
#pragma once

#include <string>
#include <string_view>

#include "throttle/quota/quota_limiter.h"

namespace weir {

// Each returns one line without spaces.
// `is_error` adds the member "error", as every error has it.
std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens, bool is_error = false);
std::string WriteSettled(const Settled& settled);
std::string WriteExtended(const Settled& settled);  // for extend only: a partial commit is written as a settlement
std::string WriteModel(const ModelStats& stats);
std::string WriteModels(const AllModelStats& all);
// Returns a tier's key as it may be shown: an API key is a secret, also in the client's own logs.
std::string Shareable(const std::string& key);
// `trouble` says why it does not serve.
std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving, std::string_view trouble);

}  // namespace weir
