// Makes the relay information document (NIP-11), in which clients read about this relay's operator and limits.
#pragma once

#include <vector>

#include "relay/net/http.h"
#include "relay/operator/relay_configuration.h"
#include "relay/rules/rules.h"

namespace weir {

// Returns the numbers of the NIPs that a relay with these settings implements, in ascending order. The list includes
// NIP-67 (EOSE says whether an answer is complete) only if RelaySettings::eose_completeness is true, NIP-62 (request to
// vanish) only if RelaySettings::url is not empty, because a request to vanish names the relay's URL, and NIP-86
// (management) only if an administrator has a key. It does not include NIP-43, because the relay publishes no list of
// its members.
std::vector<int> SupportedNips(const RelaySettings& settings);

// Returns the document of a relay with this configuration and these rules, as application/nostr+json. Its CORS headers
// allow pages of any website to read it.
HttpResponse Nip11Document(const RelayConfiguration& configuration, const RuleLimits& rules = {});

}  // namespace weir
