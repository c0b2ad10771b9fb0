#include "relay/limiters/quota/quota_client.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/wire/http/http_connection.h"
#include "relay/limiters/quota/quota_json.h"
#include "relay/limiters/quota/quota_table.h"
#include "throttle/limits/quota/open_store.h"

namespace weir {
namespace {

class ServerClient final : public QuotaClient {
 public:
  ServerClient(ServerUrl url, std::string token, std::chrono::milliseconds timeout)
      : url_(std::move(url)), token_(std::move(token)), timeout_(timeout) {}

  std::string name() const override { return url_.Origin() + url_.path; }

  Result<HttpResponse> Ask(const QuotaQuestion& question) override {
    const QuotaRoute& route = QuotaApi::RouteOf(question.call);
    const HttpCall request = RequestOf(route, question);
    if (token_.empty()) return Send(request);
    if (route.for_admins) return SendWithToken(request);
    Result<HttpResponse> answer = Send(request);
    // The gate may serve this call only to administrators.
    if (answer.ok() && answer.value().status == kUnauthorized) return SendWithToken(request);
    return answer;
  }

 private:
  static constexpr int kUnauthorized = 401;

  HttpCall RequestOf(const QuotaRoute& route, const QuotaQuestion& question) const {
    constexpr std::string_view kModel = "{model}";
    HttpCall request{.method = std::string(route.method),
                     .path = std::string(route.path),
                     .headers = {{"Accept", "application/json"}},
                     .body = question.body,
                     .timeout = timeout_};
    if (const size_t at = request.path.find(kModel); at != std::string::npos)
      request.path.replace(at, kModel.size(), EncodePercent(question.model));
    if (!question.query.empty()) request.path += "?" + question.query;
    if (!request.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    return request;
  }

  Result<HttpResponse> SendWithToken(HttpCall request) {
    if (!url_.tls && !url_.is_loopback())
      return Status::Error("WEIR_ADMIN_TOKEN is not sent to " + name() + ": http can be overheard; ask it by https");
    request.headers.emplace_back("Authorization", "Bearer " + token_);
    return Send(request);
  }

  Result<HttpResponse> Send(const HttpCall& request) {
    HttpAnswer answer = CallHttp(url_, request);
    if (answer.ok()) return HttpResponse{.status = answer.status, .body = std::move(answer.body)};
    if (!answer.nobody_listens) return Status::Error(std::move(answer.problem));
    return Status::Error("nothing answers at " + name() + " (" + answer.problem +
                         "); start `weir gate`, or name a store with --store");
  }

  const ServerUrl url_;
  const std::string token_;
  const std::chrono::milliseconds timeout_;
};

class StoreClient final : public QuotaClient {
 public:
  StoreClient(std::unique_ptr<QuotaStore> store, QuotaConfig config, RateLimitDialect dialect)
      : store_(std::move(store)), limiter_(*store_, std::move(config)), api_(limiter_, dialect) {}

  std::string name() const override { return store_->name(); }

  Result<HttpResponse> Ask(const QuotaQuestion& question) override {
    const QuotaRoute& route = QuotaApi::RouteOf(question.call);
    const HttpRequest request{.method = std::string(route.method),
                              .path = std::string(route.path),
                              .query = question.query,
                              .body = question.body};
    // The promise is shared, because the store's thread may still be in set_value after this thread has got the value.
    const auto promise = std::make_shared<std::promise<HttpResponse>>();
    api_.Answer({question.call, request, question.model, {}, QuotaAudience::kOperator},
                [promise](HttpResponse response) { promise->set_value(std::move(response)); });
    HttpResponse response = promise->get_future().get();
    if (route.changes)
      if (Status status = store_->Persist(); !status.ok()) return status;
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

Result<HttpResponse> AskForAll(QuotaClient& client, QuotaQuestion question) {
  AllModelStats all;
  for (;;) {
    Result<HttpResponse> answer = client.Ask(question);
    if (!answer.ok() || answer.value().status != 200) return answer;
    Result<AllModelStats> page = Status::Error("");
    if (question.call == QuotaRoute::Call::kModels) page = ReadModelsPage(answer.value().body);
    if (!page.ok() || (page.value().next.empty() && all.next.empty())) return answer;
    AllModelStats& more = page.value();
    std::ranges::move(more.models, std::back_inserter(all.models));
    std::ranges::move(more.unavailable, std::back_inserter(all.unavailable));
    if (!more.problem.empty()) all.problem = more.problem;
    if (!more.next.empty() && more.next <= all.next) return Status::Error(client.name() + " tells the same page again");
    all.next = more.next;
    if (all.next.empty()) return HttpResponse{.content_type = "application/json", .body = WriteModels(all)};
    question.query = "after=" + EncodePercent(all.next);
  }
}

Result<std::unique_ptr<QuotaClient>> AskServer(const std::string& url, const std::string& token,
                                               std::chrono::milliseconds timeout) {
  Result<ServerUrl> parsed = ParseServerUrl(url);
  if (!parsed.ok()) return Status::Error(Printable(url) + " is no address of a gate: " + parsed.status().message());
  return std::unique_ptr<QuotaClient>(std::make_unique<ServerClient>(std::move(parsed).value(), token, timeout));
}

Result<std::unique_ptr<QuotaClient>> AskStore(const QuotaSettings& settings, bool must_exist) {
  Result<QuotaRulesRead> read = ReadQuotaRules(settings);
  if (!read.ok()) return read.status();
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings.store, must_exist);
  if (!store.ok()) return store.status();
  QuotaConfig config = std::move(read).value().config;
  std::erase_if(config.quotas, [&store](const auto& stated) { return StoreKnows(*store.value(), stated.first); });
  return std::unique_ptr<QuotaClient>(
      std::make_unique<StoreClient>(std::move(store).value(), std::move(config), settings.dialect));
}

}  // namespace weir
