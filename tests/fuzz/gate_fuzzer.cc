// A request to a gate with all its limiters: METHOD and target in the first line, header fields until an empty one,
// then the body. It goes over HTTP/2 if it says that it is gRPC. Each request has exactly one answer, which is
// well-formed and reports errors in the common form. A request that would wait is answered when its client leaves.
#include <simdjson.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "relay/limiters/served_limiters.h"
#include "relay/net/grpc/grpc_health.h"
#include "relay/net/grpc/grpc_reflection.h"
#include "relay/net/http_error.h"
#include "relay/net/http_message.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kBearer = "Bearer token";

ServedLimiterSettings Settings() {
  ServedLimiterSettings s;
  const std::string source = WEIR_SOURCE;
  s.quota.api = ServedQuotaApi::kAll;
  s.quota.config_file = source + "/relay/limiters/example/weir.yaml";
  s.quota.store.max_models = s.quota.store.max_tier_keys = s.quota.store.max_reservations = 100;
  s.keyed.api = ServedKeyedApi::kAll;
  s.keyed.overrides = true;
  s.keyed.max_keys = s.keyed.max_waiting = 100;
  s.queued.api = ServedQueuedApi::kAll;
  s.queued.max_waiting = 100;
  s.envoy.api = ServedEnvoyApi::kAll;
  s.envoy.rules_directory = source + "/relay/limiters/envoy/example";
  s.envoy.response_headers = true;
  s.envoy.max_mib = 1;
  return s;
}

// Lives as long as the process, because its threads do.
class Gate {
 public:
  Gate() : limiters_(MakeLimiters(Settings())) {
    spdlog::set_level(spdlog::level::off);
    const Status opened = OpenAll(limiters_, nullptr);
    Must(opened.ok(), opened.message());
    for (const auto& limiter : limiters_) {
      limiter->AddRoutes(router_, [](const HttpRequest& request) -> std::optional<HttpResponse> {
        if (request.Header("authorization") == kBearer) return std::nullopt;
        return HttpResponse{.status = 401, .body = "for administrators only\n"};
      });
    }
    AddGrpcHealth(router_, [](std::string_view) { return std::optional(true); });
    AddGrpcReflection(router_, {"weir.v1.Quota"});
  }
  const HttpRouter& router() const { return router_; }

 private:
  ServedLimiters limiters_;
  HttpRouter router_;
};

// The outcome of one request.
class Owed final : public HttpReply::Receiver {
 public:
  void Give(HttpResponse response) override {
    const std::lock_guard lock(mutex_);
    Must(!answer_, "one answer");
    answer_ = PlainErrorAsJson(std::move(response));
    changed_.notify_all();
  }
  bool Abandoned() const override { return left_; }
  void OnLeft(HttpReply::LeftHandler handler) override {
    const std::lock_guard lock(mutex_);
    handler_ = std::move(handler);
  }

  // If the request waits and was not answered, its client leaves; all other requests are answered by some thread.
  HttpResponse Await() {
    std::unique_lock lock(mutex_);
    if (!answer_ && handler_) {
      left_ = true;
      const HttpReply::LeftHandler leave = std::exchange(handler_, nullptr);
      lock.unlock();
      leave(HttpLeft::kClient);
      lock.lock();
    }
    Must(changed_.wait_for(lock, std::chrono::minutes(1), [this] { return answer_.has_value(); }), "an answer");
    handler_ = nullptr;
    return *answer_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<HttpResponse> answer_;
  HttpReply::LeftHandler handler_;
  bool left_ = false;
};

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  return line;
}

std::optional<HttpRequest> ReadRequest(std::string_view text) {
  HttpRequest request{.address = "192.0.2.1", .peer = "192.0.2.1"};
  const std::string_view first = TakeLine(&text);
  const size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  if (!SetTarget(request, first.substr(std::min(space + 1, first.size())))) return std::nullopt;
  for (std::string_view line = TakeLine(&text); !line.empty(); line = TakeLine(&text)) {
    const size_t colon = line.find(": ");
    if (colon != line.npos) request.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  request.body = text;
  request.over_http2 = request.Header("content-type").starts_with("application/grpc");
  return request;
}

void CheckFields(const HttpFields& fields) {
  for (const auto& [name, value] : fields)
    Must((name + value).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos, name);
}

void CheckAnswer(const HttpResponse& answer, std::string_view path) {
  Must(answer.status >= 200 && answer.status < 600);
  CheckFields(answer.headers);
  CheckFields(answer.trailers);
  if (answer.content_type != "application/json") return Must(answer.status < 400, "an error is JSON");
  dom::parser parser;
  dom::element json;
  Must(parser.parse(answer.body).get(json) == simdjson::SUCCESS, answer.body);
  // Errors have the form of the published service.
  if (answer.status < 400 || (path == "/json" && answer.status == 429)) return;
  std::string_view code;
  std::string_view message;
  Must(json["error"]["code"].get(code) == simdjson::SUCCESS && !code.empty(), answer.body);
  Must(json["error"]["message"].get(message) == simdjson::SUCCESS, answer.body);
}

void CheckRequest(std::string_view text) {
  static Gate* const gate = new Gate;
  std::optional<HttpRequest> request = ReadRequest(text);
  if (!request) return;
  auto routed = gate->router().Route(*request);
  if (const auto* answer = std::get_if<HttpResponse>(&routed)) return CheckAnswer(*answer, request->path);
  const auto owed = std::make_shared<Owed>();
  (*std::get<const HttpDeferredHandler*>(routed))(*request, HttpReply(owed));
  CheckAnswer(owed->Await(), request->path);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::CheckRequest(weir::Text(data, size));
  return 0;
}
