#include "relay/gate/quota_client.h"

#include <algorithm>
#include <future>
#include <utility>

#include "config/parse.h"
#include "relay/gate/http_call.h"
#include "throttle/quota/open_store.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;

const QuotaRoute& RouteOf(Call call) { return *std::ranges::find(QuotaApi::Routes(), call, &QuotaRoute::call); }

class GateClient final : public QuotaClient {
 public:
  GateClient(ServerUrl url, std::string token, std::chrono::milliseconds timeout)
      : url_(std::move(url)), token_(std::move(token)), timeout_(timeout) {}

  std::string name() const override { return url_.Origin() + url_.path; }

  Result<HttpResponse> Ask(const QuotaQuestion& question) override {
    const QuotaRoute& route = RouteOf(question.call);
    const HttpRequest request = RequestOf(route, question);
    if (token_.empty()) return Send(request);
    if (route.for_admins) return SendWithToken(request);
    Result<HttpResponse> answer = Send(request);
    // It may serve administrators alone.
    if (answer.ok() && answer.value().status == kUnauthorized) return SendWithToken(request);
    return answer;
  }

 private:
  static constexpr int kUnauthorized = 401;

  static HttpRequest RequestOf(const QuotaRoute& route, const QuotaQuestion& question) {
    constexpr std::string_view kModel = "{model}";
    HttpRequest request{.method = std::string(route.method), .raw_path = std::string(route.path)};
    if (const size_t at = request.raw_path.find(kModel); at != std::string::npos)
      request.raw_path.replace(at, kModel.size(), PercentEncode(question.model));
    request.body = question.body;
    request.headers = {{"Accept", "application/json"}};
    if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    return request;
  }

  Result<HttpResponse> SendWithToken(HttpRequest request) {
    if (!url_.tls && !url_.is_loopback())
      return Status::Error("WEIR_ADMIN_TOKEN is not sent to " + name() + ": http can be overheard; ask it by https");
    request.headers.emplace_back("Authorization", "Bearer " + token_);
    return Send(request);
  }

  Result<HttpResponse> Send(const HttpRequest& request) {
    HttpCallResult call = CallHttp(url_, request, {.timeout = timeout_});
    switch (call.failed) {
      case HttpCallResult::Failed::kNothing:
        return std::move(call.response);
      case HttpCallResult::Failed::kConnect:
        return Status::Error("nothing answers at " + name() + " (" + call.problem +
                             "); start `weir gate`, or name a store with --store");
      default:
        return Status::Error(std::move(call.problem));
    }
  }

  const ServerUrl url_;
  const std::string token_;
  const std::chrono::milliseconds timeout_;
};

bool Changes(const QuotaQuestion& question) {
  switch (question.call) {
    case Call::kDecide:  // with "charge"
    case Call::kReserve:
    case Call::kCommit:
    case Call::kRefund:
    case Call::kRecord:
    case Call::kSetQuota:
    case Call::kUnsetQuota:
    case Call::kReset:
    case Call::kResetAll:
      return true;
    default:
      return false;
  }
}

class StoreClient final : public QuotaClient {
 public:
  StoreClient(std::unique_ptr<QuotaStore> store, QuotaConfig config, RateLimitDialect dialect)
      : store_(std::move(store)), limiter_(*store_, std::move(config)), api_(limiter_, dialect) {}

  std::string name() const override { return store_->name(); }

  Result<HttpResponse> Ask(const QuotaQuestion& question) override {
    const QuotaRoute& route = RouteOf(question.call);
    const HttpRequest request{
        .method = std::string(route.method), .path = std::string(route.path), .body = question.body};
    // Shared: the store's thread may still be in set_value when this one goes on.
    const auto promise = std::make_shared<std::promise<HttpResponse>>();
    api_.Answer(question.call, question.model, request,
                [promise](HttpResponse response) { promise->set_value(std::move(response)); });
    HttpResponse response = promise->get_future().get();
    if (Changes(question)) {
      if (Status status = store_->Persist(); !status.ok()) return status;
    }
    return response;
  }

 private:
  const std::unique_ptr<QuotaStore> store_;
  QuotaLimiter limiter_;
  QuotaApi api_;
};

bool StoreKnows(QuotaStore& store, std::string_view model) {
  return store.Run(Charge{.model = model, .mode = Charge::Mode::kPeek, .requests = 0}).quota.has_value();
}

}  // namespace

Result<std::unique_ptr<QuotaClient>> AskGate(const std::string& url, const std::string& token,
                                             std::chrono::milliseconds timeout) {
  Result<ServerUrl> parsed = ParseServerUrl(url);
  if (!parsed.ok()) return Status::Error(Printable(url) + " is no address of a gate: " + parsed.status().message());
  return std::unique_ptr<QuotaClient>(std::make_unique<GateClient>(std::move(parsed).value(), token, timeout));
}

Result<std::unique_ptr<QuotaClient>> AskStore(const GateSettings& settings, bool must_exist) {
  Result<QuotaConfig> config = ReadGateConfig(settings);
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings.store, must_exist);
  if (!store.ok()) return store.status();
  std::erase_if(config.value().quotas,
                [&store](const auto& stated) { return StoreKnows(*store.value(), stated.first); });
  return std::unique_ptr<QuotaClient>(
      std::make_unique<StoreClient>(std::move(store).value(), std::move(config).value(), settings.dialect));
}

}  // namespace weir
