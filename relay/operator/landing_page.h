// The page that the relay shows to browsers: it says what this is and how to connect, and shows new notes as they come.
#pragma once

#include "relay/operator/relay_configuration.h"
#include "relay/server/http.h"

namespace weir {

// Returns one page that loads nothing from elsewhere; its script opens one WebSocket to the host that it came from.
HttpResponse LandingPage(const RelayConfiguration& configuration, const HttpRequest& request);

}  // namespace weir
