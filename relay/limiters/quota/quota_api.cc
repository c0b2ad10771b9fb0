#include "relay/limiters/quota/quota_api.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "config/text/parse.h"
#include "config/text/url.h"
#include "relay/limiters/quota/quota_call_reader.h"
#include "relay/limiters/quota/quota_headers.h"
#include "relay/limiters/quota/quota_json.h"
#include "relay/limiters/quota/store_health.h"
#include "relay/net/http_error.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;
using Waits = QuotaRoute::Waits;

constexpr QuotaRoute kRoutes[] = {
    {Call::kDecide, "POST", "/v1/decide", Waits::kForBlocking, true, false, "quota decide"},  // with "charge"
    {Call::kReserve, "POST", "/v1/reserve", Waits::kForBlocking, true, false, "quota reserve"},
    {Call::kCommit, "POST", "/v1/commit", Waits::kForBlocking, true, false, "quota commit"},
    {Call::kRefund, "POST", "/v1/refund", Waits::kForBlocking, true, false, "quota refund"},
    {Call::kExtend, "POST", "/v1/extend", Waits::kForBlocking, true, false, "quota extend"},
    {Call::kRecord, "POST", "/v1/record", Waits::kForBlocking, true, false, "quota record"},
    {Call::kExplain, "POST", "/v1/explain", Waits::kForBlocking, false, false, "quota explain"},
    {Call::kModels, "GET", "/v1/models", Waits::kAlways, false},
    {Call::kModel, "GET", "/v1/models/{model}", Waits::kForStore, false},
    {Call::kSetQuota, "PUT", "/v1/models/{model}/quota", Waits::kForStore, true, true},
    {Call::kUnsetQuota, "DELETE", "/v1/models/{model}/quota", Waits::kForStore, true, true},
    {Call::kReset, "DELETE", "/v1/models/{model}/state", Waits::kForStore, true, true},
    {Call::kResetAll, "DELETE", "/v1/state", Waits::kAlways, true, true},
    {Call::kHealth, "GET", "/v1/health", Waits::kNever, false},
    {Call::kOpenApi, "GET", "/v1/openapi.json", Waits::kNever, false},
};

HttpResponse Malformed(const ApiError& error) {
  return JsonResponse(error.code == kBodyTooLong ? 413 : 400, WriteError(error));
}
HttpResponse InvalidName(std::string message) {
  return ErrorResponse(400, NameOf(QuotaCode::kInvalidName), std::move(message));
}
// The most models in one answer (some 300 KB).
constexpr uint64_t kMostModels = 1000;
struct ModelsPage {
  std::string after;
  uint64_t most = kMostModels;
};

Status ReadPage(std::string_view query, ModelsPage* page) {
  const auto parameters = ParseQuery(query);
  if (!parameters.ok()) return parameters.status();
  for (const auto& [name, value] : parameters.value()) {
    if (name == "after") {
      page->after = value;
    } else if (name == "limit") {
      const Result<uint64_t> most = ParseUnsigned(value, {.min = 1, .max = static_cast<double>(kMostModels)});
      if (!most.ok()) return Status::Error("limit: " + most.status().message());
      page->most = most.value();
    } else {
      return Status::Error("found the parameter " + Printable(name) + ", expected after or limit");
    }
  }
  return {};
}

// The Retry-After of 503. A store that has failed may be asked again later than that: a Redis after up to 5 s.
constexpr Duration kStoreRetry = std::chrono::seconds(1);

// Returns the answer to a call that the store did not answer. `message` is the store's own message, or already a
// sentence that begins as StoreAwayReason does.
HttpResponse StoreAway(const std::string& message, QuotaAudience audience) {
  std::string reason = StoreAwayReason({});
  if (audience == QuotaAudience::kOperator) reason = message.starts_with(reason) ? message : StoreAwayReason(message);
  HttpResponse response = ErrorResponse(503, NameOf(QuotaCode::kStoreUnavailable), std::move(reason));
  response.headers.emplace_back("Retry-After", RetryAfterSeconds(kStoreRetry));
  return response;
}

int StatusOf(const Decision& decision) {
  if (decision.code == QuotaCode::kInvalidTokens || decision.code == QuotaCode::kInvalidName) return 400;
  if (decision.allowed) return 200;
  if (decision.code == QuotaCode::kUnknownModel || decision.code == QuotaCode::kDenied) return 403;
  if (decision.code == QuotaCode::kKeyReused) return 422;
  if (decision.code == QuotaCode::kTooLarge) return 413;  // not 429, which SDKs would retry for ever
  return decision.code == QuotaCode::kStoreUnavailable ? 503 : 429;
}

// Returns the answer to a call. The status of an explanation is 200, whatever the decision is.
HttpResponse ResponseTo(QuotaRoute::Call call, const Decision& decision, std::string_view model, int64_t tokens) {
  const int status = StatusOf(decision);
  if (status == 400) return ErrorResponse(status, NameOf(decision.code), decision.reason);
  if (call == Call::kExplain) return JsonResponse(200, WriteDecision(decision, model, tokens));
  return JsonResponse(status, WriteDecision(decision, model, tokens, status != 200));
}

HttpResponse ResponseTo(QuotaRoute::Call call, const Settled& settled, QuotaAudience audience) {
  if (settled.ok()) return JsonResponse(200, call == Call::kExtend ? WriteExtended(settled) : WriteSettled(settled));
  if (settled.code == Settled::Code::kStoreUnavailable) return StoreAway(settled.reason, audience);
  const SettledAnswer& answer = AnswerFor(settled.code);
  return ErrorResponse(answer.http_status, answer.name, settled.reason);
}

}  // namespace

QuotaApi::QuotaApi(QuotaLimiter& limiter, RateLimitDialect dialect, const WallClock& clock)
    : limiter_(limiter), dialect_(dialect), clock_(clock) {}

std::span<const QuotaRoute> QuotaApi::Routes() { return kRoutes; }

const QuotaRoute& QuotaApi::RouteOf(Call call) { return *std::ranges::find(kRoutes, call, &QuotaRoute::call); }

bool QuotaApi::MayWait(Call call) const {
  const QuotaStore::Pace pace = limiter_.store().pace();
  switch (RouteOf(call).waits) {
    case Waits::kNever:
      return false;
    case Waits::kForBlocking:
      return pace == QuotaStore::Pace::kBlocks;
    case Waits::kForStore:
      return pace != QuotaStore::Pace::kAtOnce;
    default:
      return true;
  }
}

void QuotaApi::Answer(const Asked& asked, Done done) {
  switch (asked.call) {
    case Call::kDecide:
    case Call::kReserve:
    case Call::kRecord:
    case Call::kExplain:
      return Decide(asked, done);
    case Call::kCommit:
    case Call::kRefund:
    case Call::kExtend:
      return Settle(asked, done);
    default:
      done(AnswerNow(asked));
  }
}

void QuotaApi::Decide(const Asked& asked, const Done& done) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(asked.call, asked.request.body, &body)) return done(Malformed(*error));
  if (const std::string_view key = asked.request.Header("idempotency-key"); !key.empty() && !body.idempotency_key)
    body.idempotency_key = key;
  // The limiter may call this after this object is destroyed, so it captures no `this`. The clock still exists then.
  const auto finish = [call = asked.call, dialect = dialect_, &clock = clock_, model = *body.model,
                       tokens = body.use().tokens, done, audience = asked.audience](Decision decision) {
    if (audience == QuotaAudience::kStrangers) HideFromStrangers(&decision);
    HttpResponse response = ResponseTo(call, decision, model, tokens);
    if (response.status != 400) {
      response.headers = RateLimitFields(decision, tokens, call == Call::kReserve, dialect, clock.Now());
      const std::optional<Duration> wait = response.status == 503 ? kStoreRetry : decision.retry_after;
      if (response.status != 200 && wait) response.headers.emplace_back("Retry-After", RetryAfterSeconds(*wait));
    }
    done(std::move(response));
  };
  SubmitDecision(limiter_, asked.call, body, asked.request.address, finish, asked.span);
}

void QuotaApi::Settle(const Asked& asked, const Done& done) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(asked.call, asked.request.body, &body)) return done(Malformed(*error));
  const auto finish = [call = asked.call, audience = asked.audience, done](const Settled& settled) {
    done(ResponseTo(call, settled, audience));
  };
  SubmitSettlement(limiter_, asked.call, body, finish, asked.span);
}

HttpResponse QuotaApi::AnswerNow(const Asked& asked) {
  const Call call = asked.call;
  const QuotaAudience audience = asked.audience;
  if (call == Call::kOpenApi) return JsonResponse(200, std::string(QuotaOpenApi()));
  if (call == Call::kHealth) return Health(audience);
  if (call == Call::kModels) return Models(asked);
  if (call != Call::kResetAll) {
    if (const Status name = CheckName("model", asked.model); !name.ok()) return InvalidName(name.message());
  }
  const std::string named(asked.model);
  if (call == Call::kModel) return Shown(named, false, audience);
  if (const std::string counted_as = limiter_.CountedAs(named); call != Call::kResetAll && counted_as != named)
    return InvalidName("model: " + Printable(named) + " is counted as " + Printable(counted_as) + "; name that");
  if (call == Call::kSetQuota) return SetQuota(named, asked);
  if (call == Call::kUnsetQuota) {
    const Status unset = limiter_.UnsetQuota(named);
    return unset.ok() ? Shown(named, true, audience) : StoreAway(unset.message(), audience);
  }
  const Status reset = call == Call::kReset ? limiter_.Reset(named) : limiter_.ResetAll();
  if (!reset.ok()) return StoreAway(reset.message(), audience);
  return {.status = 204, .content_type = ""};
}

HttpResponse QuotaApi::Models(const Asked& asked) {
  ModelsPage page;
  if (Status read = ReadPage(asked.request.query, &page); !read.ok())
    return ErrorResponse(400, "invalid_request", read.message());
  Result<AllModelStats> models = limiter_.AllStats(page.after, page.most);
  if (!models.ok()) return StoreAway(models.status().message(), asked.audience);
  std::string& problem = models.value().problem;
  if (asked.audience == QuotaAudience::kStrangers && !problem.empty()) problem = "a part of the store does not answer";
  return JsonResponse(200, WriteModels(models.value()));
}

HttpResponse QuotaApi::Shown(const std::string& model, bool even_unknown, QuotaAudience audience) {
  const Result<ModelStats> stats = limiter_.Stats(model);
  if (!stats.ok()) return StoreAway(stats.status().message(), audience);
  if (!even_unknown && !stats.value().quota && stats.value().usage == ModelUsage{}) {
    return ErrorResponse(404, NameOf(QuotaCode::kUnknownModel),
                         "no quota is known for this model, and nothing was used of it");
  }
  return JsonResponse(200, WriteModel(stats.value()));
}

HttpResponse QuotaApi::SetQuota(const std::string& model, const Asked& asked) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(Call::kSetQuota, asked.request.body, &body)) return Malformed(*error);
  const ModelQuota quota{.max_rpm = *body.max_rpm, .max_tpm = *body.max_tpm, .max_rpd = *body.max_rpd};
  if (const Status set = limiter_.SetQuota(model, quota); !set.ok()) return StoreAway(set.message(), asked.audience);
  return Shown(model, true, asked.audience);
}

HttpResponse QuotaApi::Health(QuotaAudience audience) const {
  StoreHealth health = limiter_.store().Health();
  const bool serving = CanDecide(health, *limiter_.config()).ok();
  std::string name = limiter_.store().name();
  std::string trouble = TroubleOf(health);
  if (audience == QuotaAudience::kStrangers) {
    name = name.substr(0, name.find(':'));
    health.problem = trouble;
    if (!health.warning.empty()) health.warning = "the log has a warning";
  }
  return JsonResponse(serving ? 200 : 503, WriteHealth(name, health, serving, trouble));
}

std::string_view QuotaOpenApi() {
  static constexpr std::string_view kDocument =
#include "openapi_json.inc"
      ;
  return kDocument;
}

}  // namespace weir
