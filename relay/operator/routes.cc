#include "relay/operator/routes.h"

#include <utility>

#include "relay/operator/landing_page.h"
#include "relay/operator/nip11.h"

namespace weir {

void AddHealthRoutes(HttpRouter& router, std::function<Status(std::string* note)> ready) {
  router.Add("GET", "/healthz", [](const HttpRequest&) { return HttpResponse{.body = "alive\n"}; });
  router.Add("GET", "/readyz", [ready = std::move(ready)](const HttpRequest&) {
    std::string note;
    const Status status = ready(&note);
    if (status.ok()) return HttpResponse{.body = note.empty() ? "ready\n" : "ready, but " + note + "\n"};
    return HttpResponse{.status = 503, .body = status.message() + "\n", .headers = {{"Retry-After", "5"}}};
  });
}

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
