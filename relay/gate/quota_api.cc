#include "relay/gate/quota_api.h"

#include <chrono>
#include <optional>
#include <utility>

#include "relay/gate/quota_headers.h"
#include "relay/gate/quota_json.h"
#include "relay/gate/serving.h"
#include "throttle/quota/quota_reasons.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;

HttpResponse Json(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}
HttpResponse Error(int status, std::string_view code, std::string message) {
  return Json(status, WriteError({.code = code, .message = std::move(message)}));
}
HttpResponse Malformed(const QuotaApiError& error) {
  return Json(error.code == kBodyTooLong ? 413 : 400, WriteError(error));
}
HttpResponse InvalidName(std::string message) {
  return Error(400, NameOf(QuotaCode::kInvalidName), std::move(message));
}
// A store that is away is asked again at least so often.
constexpr Duration kStoreRetry = std::chrono::seconds(1);

// The limiter says of most calls what is away; the others' message is the store's own.
HttpResponse StoreAway(const std::string& message) {
  const bool says_it = message.starts_with(StoreAwayReason({}));
  HttpResponse response =
      Error(503, NameOf(QuotaCode::kStoreUnavailable), says_it ? message : StoreAwayReason(message));
  response.headers.emplace_back("Retry-After", RetryAfterSeconds(kStoreRetry));
  return response;
}

int StatusOf(const Decision& decision) {
  if (decision.code == QuotaCode::kInvalidTokens || decision.code == QuotaCode::kInvalidName) return 400;
  if (decision.allowed) return 200;
  if (decision.code == QuotaCode::kUnknownModel) return 403;
  return decision.code == QuotaCode::kStoreUnavailable ? 503 : 429;
}

HttpResponse Answer(const Decision& decision, std::string_view model, int64_t tokens) {
  const int status = StatusOf(decision);
  if (status == 400) return Error(status, NameOf(decision.code), decision.reason);
  return Json(status, WriteDecision(decision, model, tokens));
}

HttpResponse Answer(const Settled& settled) {
  switch (settled.code) {
    case Settled::Code::kSettled:
      return Json(200, WriteSettled(settled));
    case Settled::Code::kUnknownReservation:
      return Error(404, "unknown_reservation", settled.reason);
    case Settled::Code::kInvalidTokens:
      return Error(400, NameOf(QuotaCode::kInvalidTokens), settled.reason);
    case Settled::Code::kStoreUnavailable:
      return StoreAway(settled.reason);
  }
  return Error(500, "internal", "");
}

std::string_view View(const std::optional<std::string>& text) { return text ? std::string_view(*text) : ""; }

QuotaRequest RequestOf(const QuotaCallBody& body) {
  QuotaRequest request{.model = View(body.model),
                       .tokens = body.cost(),
                       .requester = {.user = View(body.user),
                                     .tenant = View(body.tenant),
                                     .api_key = View(body.api_key),
                                     .instance = View(body.instance),
                                     .qos = View(body.qos)},
                       .every_tier = true};
  if (body.ttl_seconds) request.reservation_ttl = std::chrono::seconds(*body.ttl_seconds);
  return request;
}

QuotaObserver::Call Asked(Call call, const QuotaCallBody& body) {
  if (call == Call::kReserve) return QuotaObserver::Call::kReserve;
  if (call == Call::kRecord) return QuotaObserver::Call::kRecord;
  if (call == Call::kExplain) return QuotaObserver::Call::kExplain;
  return body.charge.value_or(false) ? QuotaObserver::Call::kTake : QuotaObserver::Call::kDecide;
}

}  // namespace

QuotaApi::QuotaApi(QuotaLimiter& limiter, RateLimitDialect dialect, const WallClock& clock)
    : limiter_(limiter), dialect_(dialect), clock_(clock) {}

const std::vector<QuotaRoute>& QuotaApi::Routes() {
  static const std::vector<QuotaRoute>& routes = *new std::vector<QuotaRoute>{
      {Call::kDecide, "POST", "/v1/decide"},
      {Call::kReserve, "POST", "/v1/reserve"},
      {Call::kCommit, "POST", "/v1/commit"},
      {Call::kRefund, "POST", "/v1/refund"},
      {Call::kRecord, "POST", "/v1/record"},
      {Call::kExplain, "POST", "/v1/explain"},
      {Call::kModels, "GET", "/v1/models"},
      {Call::kModel, "GET", "/v1/models/{model}"},
      {Call::kSetQuota, "PUT", "/v1/models/{model}/quota", true},
      {Call::kUnsetQuota, "DELETE", "/v1/models/{model}/quota", true},
      {Call::kReset, "DELETE", "/v1/models/{model}/state", true},
      {Call::kResetAll, "DELETE", "/v1/state", true},
      {Call::kHealth, "GET", "/v1/health"},
      {Call::kOpenApi, "GET", "/v1/openapi.json"},
  };
  return routes;
}

bool QuotaApi::MayWait(Call call) const {
  switch (call) {
    case Call::kHealth:
    case Call::kOpenApi:
      return false;
    case Call::kModels:
    case Call::kResetAll:
      return true;
    case Call::kModel:
    case Call::kSetQuota:
    case Call::kUnsetQuota:
    case Call::kReset:
      return limiter_.store().pace() != QuotaStore::Pace::kAtOnce;
    default:
      return limiter_.store().pace() == QuotaStore::Pace::kBlocks;
  }
}

void QuotaApi::Answer(Call call, std::string_view model, const HttpRequest& request, Done done) {
  switch (call) {
    case Call::kDecide:
    case Call::kReserve:
    case Call::kRecord:
    case Call::kExplain:
      return Decide(call, request, done);
    case Call::kCommit:
    case Call::kRefund:
      return Settle(call, request, done);
    default:
      done(AnswerNow(call, model, request));
  }
}

void QuotaApi::Decide(Call call, const HttpRequest& request, const Done& done) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(call, request.body, &body)) return done(Malformed(*error));
  // The limiter may answer when this object is gone; its clock is not.
  const auto finish = [call, dialect = dialect_, &clock = clock_, model = *body.model, tokens = body.cost(),
                       done](const Decision& decision) {
    HttpResponse response = weir::Answer(decision, model, tokens);
    if (response.status != 400) {
      if (call == Call::kExplain) response.status = 200;
      response.headers = RateLimitFields(decision, tokens, dialect, clock.Now());
      const std::optional<Duration> wait = response.status == 503 ? kStoreRetry : decision.retry_after;
      if (response.status != 200 && wait) response.headers.emplace_back("Retry-After", RetryAfterSeconds(*wait));
    }
    done(std::move(response));
  };
  limiter_.Submit(Asked(call, body), RequestOf(body), finish);
}

void QuotaApi::Settle(Call call, const HttpRequest& request, const Done& done) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(call, request.body, &body)) return done(Malformed(*error));
  limiter_.SubmitSettle(*body.reservation, call == Call::kCommit ? std::optional(body.cost()) : std::nullopt,
                        [done](const Settled& settled) { done(weir::Answer(settled)); });
}

HttpResponse QuotaApi::AnswerNow(Call call, std::string_view model, const HttpRequest& request) {
  if (call == Call::kOpenApi) return Json(200, std::string(QuotaOpenApi()));
  if (call == Call::kHealth) return Health();
  if (call == Call::kModels) return Models();
  if (call != Call::kResetAll) {
    if (const Status name = CheckName("model", model); !name.ok()) return InvalidName(name.message());
  }
  const std::string named(model);
  if (call == Call::kModel) return Shown(named, false);
  if (call == Call::kSetQuota) return SetQuota(named, request);
  if (call == Call::kUnsetQuota) {
    const Status unset = limiter_.UnsetQuota(named);
    return unset.ok() ? Shown(named, true) : StoreAway(unset.message());
  }
  const Status reset = call == Call::kReset ? limiter_.Reset(named) : limiter_.ResetAll();
  if (!reset.ok()) return StoreAway(reset.message());
  return {.status = 204, .content_type = ""};
}

HttpResponse QuotaApi::Models() {
  const Result<std::vector<ModelStats>> models = limiter_.AllStats();
  return models.ok() ? Json(200, WriteModels(models.value())) : StoreAway(models.status().message());
}

HttpResponse QuotaApi::Shown(const std::string& model, bool even_unknown) {
  const Result<ModelStats> stats = limiter_.Stats(model);
  if (!stats.ok()) return StoreAway(stats.status().message());
  if (!even_unknown && !stats.value().quota && stats.value().usage == ModelUsage{}) {
    return Error(404, NameOf(QuotaCode::kUnknownModel), "no quota is known for this model, and nothing was used of it");
  }
  return Json(200, WriteModel(stats.value()));
}

HttpResponse QuotaApi::SetQuota(const std::string& model, const HttpRequest& request) {
  QuotaCallBody body;
  if (const auto error = ReadQuotaCall(Call::kSetQuota, request.body, &body)) return Malformed(*error);
  const ModelQuota quota{.max_rpm = *body.max_rpm, .max_tpm = *body.max_tpm, .max_rpd = *body.max_rpd};
  if (const Status set = limiter_.SetQuota(model, quota); !set.ok()) return StoreAway(set.message());
  return Shown(model, true);
}

HttpResponse QuotaApi::Health() const {
  const StoreHealth health = limiter_.store().Health();
  const bool serving = CanDecide(health, *limiter_.config()).ok();
  return Json(serving ? 200 : 503, WriteHealth(limiter_.store().name(), health, serving));
}

}  // namespace weir
