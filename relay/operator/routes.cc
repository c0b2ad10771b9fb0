#include "relay/operator/routes.h"

#include <utility>

#include "relay/net/health_routes.h"
#include "relay/operator/landing_page.h"
#include "relay/operator/nip11.h"

namespace weir {

HttpRouter RelayRoutes(const RelayConfiguration& configuration, const RelayMetrics& metrics,
                       std::function<Status(std::string* note)> ready) {
  HttpRouter router;
  router.AddForAccept("application/nostr+json",
                      [document = Nip11Document(configuration)](const HttpRequest&) { return document; });
  router.Add("GET", "/", [configuration](const HttpRequest& request) { return LandingPage(configuration, request); });
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
