#include "relay/operator/routes.h"

#include <utility>

#include "relay/net/health_routes.h"
#include "relay/operator/landing_page.h"
#include "relay/operator/nip11.h"

namespace weir {
namespace {

RelayConfiguration WithChanges(RelayConfiguration configuration, const ChangedText& changed) {
  RelaySettings& relay = configuration.relay;
  if (!changed) return configuration;
  if (auto name = changed("name")) relay.name = std::move(*name);
  if (auto description = changed("description")) relay.description = std::move(*description);
  if (auto icon = changed("icon")) relay.icon = std::move(*icon);
  return configuration;
}

}  // namespace

HttpRouter RelayRoutes(const RelayConfiguration& configuration, const RelayMetrics& metrics, const RulesInForce& rules,
                       std::function<Status(std::string* note)> ready, ChangedText changed) {
  HttpRouter router;
  router.AddForAccept("application/nostr+json", [configuration, &rules, changed](const HttpRequest&) {
    return Nip11Document(WithChanges(configuration, changed), rules.limits());
  });
  router.Add("GET", "/", [configuration, &rules, changed](const HttpRequest& request) {
    return LandingPage(WithChanges(configuration, changed), request, rules.limits());
  });
  router.Add("GET", "/metrics", [&metrics](const HttpRequest&) {
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics.Prometheus()};
  });
  router.Add("GET", "/api/metrics", [&metrics](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json", .body = metrics.Json()};
  });
  AddHealthRoutes(router, std::move(ready));
  return router;
}

}  // namespace weir
