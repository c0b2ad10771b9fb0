// The relay information document (NIP-11): who runs this and what its limits are, made from the settings in force.
#pragma once

#include <vector>

#include "relay/operator/relay_configuration.h"
#include "relay/server/http.h"

namespace weir {

// Those that this relay implements; what EOSE says of completeness (67) only where that is set.
std::vector<int> SupportedNips(const RelaySettings& settings);

// application/nostr+json, with the headers that let a page of any origin read it.
HttpResponse Nip11Document(const RelayConfiguration& configuration);

}  // namespace weir
