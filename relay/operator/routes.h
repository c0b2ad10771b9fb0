// The routes for plain HTTP on the relay's port:
//
//   GET any path, Accept: application/nostr+json   NIP-11
//   /             the page for a browser
//   /metrics      Prometheus
//   /api/metrics  the same figures as JSON
//   /healthz      200 whenever the program can answer
//   /readyz       200, or 503 with the reason why clients should not use this relay now
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/status.h"
#include "relay/net/http.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/operator/relay_configuration.h"
#include "relay/rules/rules_in_force.h"

namespace weir {

// Returns the relay's "name", "description" or "icon" if an administrator has changed it while the relay runs; null:
// the setting holds. Called on I/O threads, so it must not block.
using ChangedText = std::function<std::optional<std::string>(std::string_view name)>;

// Returns a router with all of these routes. The metrics and the rules must outlive it. `ready`: see AddHealthRoutes
// (relay/net/health_routes.h). Without `changed` the settings hold.
HttpRouter RelayRoutes(const RelayConfiguration& configuration, const RelayMetrics& metrics, const RulesInForce& rules,
                       std::function<Status(std::string* note)> ready, ChangedText changed = {});

}  // namespace weir
