// Writes the answers of the quota API as JSON (relay/limiters/openapi.json).
#pragma once

#include <string>
#include <string_view>

#include "throttle/quota/quota_limiter.h"

namespace weir {

// The Write functions return one line without blanks, with a line feed at its end.

// `is_error` adds the member "error", which every error has (http_error.h).
std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens, bool is_error = false);
std::string WriteSettled(const Settled& settled);
std::string WriteExtended(const Settled& settled);  // for extend; a partial commit is written by WriteSettled
std::string WriteModel(const ModelStats& stats);
std::string WriteModels(const AllModelStats& all);
// Returns the key of a tier in a form that may be shown: with an API key replaced by ***, because it must stay secret
// even in the client's own logs.
std::string Shareable(const std::string& key);
// `serving` says whether quotas can be decided; if not, `trouble` says why.
std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving, std::string_view trouble);

}  // namespace weir
