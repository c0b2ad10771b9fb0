#include "relay/net/health_routes.h"

#include <utility>

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

}  // namespace weir
