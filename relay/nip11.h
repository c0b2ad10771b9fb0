// The relay information document (NIP-11): who runs this and what its limits are, made from the settings in force.
#pragma once

#include <span>

#include "relay/relay.h"
#include "relay/server/http.h"

namespace weir {

// Those that this relay implements, whatever is set.
std::span<const int> SupportedNips();

// application/nostr+json, with the headers that let a page of any origin read it.
HttpResponse Nip11Document(const RelayConfiguration& configuration);

}  // namespace weir
