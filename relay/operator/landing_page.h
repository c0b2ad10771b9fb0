// What a browser sees on the relay's port: what this is, how to connect, and the newest notes as they come.
#pragma once

#include "relay/operator/relay_configuration.h"
#include "relay/server/http.h"

namespace weir {

// One page without anything from elsewhere; its script opens one WebSocket to the host that it came from.
HttpResponse LandingPage(const RelayConfiguration& configuration, const HttpRequest& request);

}  // namespace weir
