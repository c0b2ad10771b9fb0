#include "relay/operator/routes.h"

#include <utility>

#include "relay/net/health_routes.h"
#include "relay/operator/landing_page.h"
#include "relay/operator/nip11.h"

namespace weir {

HttpRouter RelayRoutes(const RelayConfiguration& configuration, const RelayMetrics& metrics, const RulesInForce& rules,
                       std::function<Status(std::string* note)> ready) {
  HttpRouter router;
  router.AddForAccept("application/nostr+json", [configuration, &rules](const HttpRequest&) {
    return Nip11Document(configuration, rules.limits());
  });
  router.Add("GET", "/", [configuration, &rules](const HttpRequest& request) {
    return LandingPage(configuration, request, rules.limits());
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
