// The routes that the relay's port has for plain HTTP:
//
//   GET any path, Accept: application/nostr+json   NIP-11
//   /             the page for a browser
//   /metrics      Prometheus
//   /api/metrics  the same figures as JSON
//   /healthz      200 while the program answers at all
//   /readyz       200, or 503 with the reason why clients should go elsewhere for now
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/metrics/relay_metrics.h"
#include "relay/operator/relay_configuration.h"
#include "relay/server/http.h"

namespace weir {

// The metrics must outlive the router. `ready` is called by I/O threads, several at once; it must not block.
HttpRouter RelayRoutes(const RelayConfiguration& configuration, const RelayMetrics& metrics,
                       std::function<Status(std::string* note)> ready);

// Adds /healthz and /readyz. `ready` sets *note to what is wrong although the program is ready.
void AddHealthRoutes(HttpRouter& router, std::function<Status(std::string* note)> ready);

}  // namespace weir
