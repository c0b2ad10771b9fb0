// Makes the page that the relay shows to browsers. The page says what the relay is and how to connect, and shows the
// newest notes, also those that arrive later.
#pragma once

#include "relay/net/http.h"
#include "relay/operator/relay_configuration.h"
#include "relay/rules/rules.h"

namespace weir {

// Returns the page. It loads nothing from other hosts; its script opens one WebSocket to the host of the page.
HttpResponse LandingPage(const RelayConfiguration& configuration, const HttpRequest& request,
                         const RuleLimits& rules = {});

}  // namespace weir
