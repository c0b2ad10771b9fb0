// The keyed limiter's API on a clock that the test moves, and clients that record their answers and may disconnect.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/manual_clock.h"
#include "config/text/percent.h"
#include "relay/limiters/keyed/keyed_api.h"
#include "relay/limiters/keyed/keyed_metrics.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {

// KeyedClient: behaves like a connection. If a handler has asked for a notification of the client's end, it gets one,
// unless the answer was sent before.
struct KeyedClient : HttpReply::Receiver {
  void Give(HttpResponse given) override {
    EXPECT_FALSE(response) << "answered twice";
    response = std::move(given);
    on_left = nullptr;
  }
  bool Abandoned() const override { return gone.has_value(); }
  void OnLeft(HttpReply::LeftHandler handler) override {
    if (response) return;
    if (gone) return handler(*gone);
    on_left = std::move(handler);
  }
  void Leave(HttpLeft why = HttpLeft::kClient) {
    gone = why;
    if (const auto told = std::exchange(on_left, nullptr)) told(why);
  }

  int status() const { return response ? response->status : 0; }
  std::string body() const { return response ? response->body : ""; }
  std::string Header(std::string_view name) const {
    if (response)
      for (const auto& [known, value] : response->headers)
        if (known == name) return value;
    return "";
  }
  // Returns the value of a member of the answer, which must be a text or a number.
  std::string Member(const std::string& name) const {
    const std::string text = body();
    size_t at = text.find("\"" + name + "\":");
    if (at == text.npos) return "";
    at += name.size() + 3;
    const bool is_text = text[at] == '"';
    if (is_text) ++at;
    return text.substr(at, text.find_first_of(is_text ? "\"" : ",}", at) - at);
  }

  // Returns the status and the code of an error: "429 window_full".
  std::string Refusal() const { return std::to_string(status()) + " " + Member("code"); }

  std::optional<HttpResponse> response;
  std::optional<HttpLeft> gone;
  HttpReply::LeftHandler on_left;
};

class KeyedApiTest : public testing::Test {
 protected:
  using ClientPointer = std::shared_ptr<KeyedClient>;
  using Fields = std::vector<std::pair<std::string, std::string>>;

  void Open(KeyedLimits limits = {}, KeyedConfig config = {}, std::unique_ptr<SharedWindows> shared = nullptr) {
    config.rules = std::make_shared<KeyedRules>(limits);
    api_.reset();
    limiter_ = std::make_unique<KeyedLimiter>(std::move(config), clock_, std::move(shared));
    api_.emplace(*limiter_, metrics_);
    router_ = HttpRouter();
    for (const KeyedRoute& route : KeyedApi::Routes()) {
      router_.AddDeferred(std::string(route.method), std::string(route.path),
                          [this, &route](const HttpRequest& request, HttpReply reply) {
                            api_->Answer(route.call, request, std::move(reply));
                          });
    }
  }

  ClientPointer Ask(const std::string& method, const std::string& target, Fields headers = {},
                    const std::string& body = "", const ClientPointer& client = std::make_shared<KeyedClient>()) {
    const size_t question = target.find('?');
    HttpRequest request;
    request.method = method;
    request.raw_path = target.substr(0, question);
    request.path = DecodePercent(request.raw_path).value_or("");
    request.query = question == target.npos ? "" : target.substr(question + 1);
    request.headers = std::move(headers);
    request.body = body;
    auto routed = router_.Route(request);
    if (auto* at_once = std::get_if<HttpResponse>(&routed)) {
      client->Give(std::move(*at_once));
    } else {
      (*std::get<const HttpDeferredHandler*>(routed))(request, HttpReply(client));
    }
    return client;
  }
  ClientPointer Take(const std::string& target) { return Ask("POST", "/rate/" + target); }
  void Pass(Duration time) {
    clock_.Advance(time);
    limiter_->Tick();
  }
  std::string MetricsText() const {
    MetricFamilies families;
    metrics_.AppendTo(families, limiter_->Counts(), limiter_->SharedHealth());
    return prometheus::TextSerializer().Serialize(std::move(families).Take());
  }

  ManualClock clock_{TimePoint(std::chrono::hours(1))};
  KeyedMetrics metrics_;
  std::unique_ptr<KeyedLimiter> limiter_;
  std::optional<KeyedApi> api_;
  HttpRouter router_;
};

}  // namespace weir
