// The JSON of the API's answers (relay/limiters/openapi.json).
#pragma once

#include <string>
#include <string_view>

#include "throttle/quota/quota_limiter.h"

namespace weir {

// Of one line each, without spaces.
// is_error adds the member "error", as every error has it.
std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens, bool is_error = false);
std::string WriteSettled(const Settled& settled);
std::string WriteExtended(const Settled& settled);  // of extend alone; a commit so far is a settlement to come
std::string WriteModel(const ModelStats& stats);
std::string WriteModels(const AllModelStats& all);
// How a tier's key is shown: an API key is a secret, also in the logs of who asks.
std::string Shareable(const std::string& key);
// trouble: why it does not serve.
std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving, std::string_view trouble);

}  // namespace weir
