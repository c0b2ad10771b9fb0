// The relay information document (NIP-11): it says who runs this relay and what its limits are, by the settings in
// force.
#pragma once

#include <vector>

#include "relay/operator/relay_configuration.h"
#include "relay/server/http.h"

namespace weir {

// Returns the NIPs that this relay implements: 67 (EOSE says whether an answer is complete) only if it is set, and 62
// only if the relay's URL is.
std::vector<int> SupportedNips(const RelaySettings& settings);

// Returns it as application/nostr+json, with the headers that let a page of any origin read it.
HttpResponse Nip11Document(const RelayConfiguration& configuration);

}  // namespace weir
