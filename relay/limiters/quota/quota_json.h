// Writes the answers of the quota API as JSON (relay/limiters/openapi.json).
#pragma once

#include <string>
#include <string_view>

#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// Each Write function returns a JSON object on one line, without spaces between its members, and a line feed.

// If `is_error` is true, adds the member "error" (http_error.h).
std::string WriteDecision(const Decision& decision, std::string_view model, int64_t tokens, bool is_error = false);
std::string WriteSettled(const Settled& settled);
std::string WriteExtended(const Settled& settled);  // for extend; a partial commit needs WriteSettled
std::string WriteModel(const ModelStats& stats);
std::string WriteModels(const AllModelStats& all);
// Returns the key of a tier's counter in the form for answers: *** stands for the API key in it, if there is one. API
// keys are secrets, and clients log answers.
std::string Shareable(const std::string& key);
// `serving` is true if requests can be decided; otherwise `trouble` is the reason why not.
std::string WriteHealth(std::string_view store, const StoreHealth& health, bool serving, std::string_view trouble);

}  // namespace weir
