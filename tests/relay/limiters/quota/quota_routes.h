// Calls the gate's routes without a server.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "relay/limiters/quota/quota_service.h"
#include "relay/net/http_error.h"

namespace weir {

class QuotaRoutes {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  explicit QuotaRoutes(const QuotaSettings& settings) : quotas_(settings) {
    quotas_.AddRoutes(router_, [this](const HttpRequest&) { return refusal; });
    if (const Status status = quotas_.Open(nullptr); !status.ok()) throw std::runtime_error(status.message());
  }

  // Sends a request. If the path has a model, the model is "m".
  HttpResponse Ask(const QuotaRoute& route, const std::string& body, Fields headers = {}) {
    return Ask(route, body, std::move(headers), false);
  }
  // Sends a request as a client that disconnects before the answer.
  HttpResponse AskAndHangUp(const QuotaRoute& route, const std::string& body) { return Ask(route, body, {}, true); }

  std::optional<HttpResponse> refusal;  // for clients that may not administer

 private:
  struct Kept : HttpReply::Receiver {
    explicit Kept(bool hung_up) : abandoned(hung_up) {}
    // Takes the answer in the form in which the server would send it.
    void Give(HttpResponse given) override { response.set_value(PlainErrorAsJson(std::move(given))); }
    bool Abandoned() const override { return abandoned; }
    void OnLeft(HttpReply::LeftHandler) override {}

    const bool abandoned;
    std::promise<HttpResponse> response;
  };

  HttpResponse Ask(const QuotaRoute& route, const std::string& body, Fields headers, bool hang_up) {
    HttpRequest request;
    request.method = route.method;
    request.path = route.path;
    if (const size_t model = request.path.find("{model}"); model != request.path.npos)
      request.path.replace(model, 7, "m");
    request.raw_path = request.path;
    request.body = body;
    request.headers = std::move(headers);
    auto routed = router_.Route(request);
    if (auto* at_once = std::get_if<HttpResponse>(&routed)) return std::move(*at_once);
    const auto kept = std::make_shared<Kept>(hang_up);
    (*std::get<const HttpDeferredHandler*>(routed))(request, HttpReply(kept));
    return kept->response.get_future().get();
  }

  HttpRouter router_;
  QuotaService quotas_;
};

}  // namespace weir
