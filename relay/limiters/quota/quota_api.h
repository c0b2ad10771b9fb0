// QuotaApi: the API of the quota limiter (throttle/quota/quota_limiter.h), which is JSON over HTTP. A server calls it
// from its routes, and `weir quota` within its own process. relay/limiters/openapi.json has every key and every answer.
//
//   POST /v1/decide   {"model":"gpt-4o","tokens":900}          whether this would be allowed now; charges nothing
//                     {…,"charge":true}                        the same, and charges if it is allowed
//   POST /v1/reserve  {"model":"gpt-4o","tokens":900,"ttl_seconds":600}
//   POST /v1/extend   {"reservation":"…","ttl_seconds":600}    gives the reservation more time, counted from now
//   POST /v1/commit   {"reservation":"…","tokens":1100}  or  {…,"prompt_tokens":800,"output_tokens":300}
//   POST /v1/refund   {"reservation":"…"}
//   POST /v1/record   {"model":"gpt-4o","prompt_tokens":800,"output_tokens":300}  or  {…,"tokens":1100}
//   POST /v1/explain  as decide, with the state of every tier; 200 whatever the decision
//   GET  /v1/models   a page of models with quota and usage, sorted; ?after=m, ?limit=1000; "next" if there are more
//   GET  /v1/models/{m}        one model; 404 if it has no quota and no usage
//   PUT  /v1/models/{m}/quota  {"max_rpm":500,"max_tpm":30000,"max_rpd":0}; for administrators
//   DELETE /v1/models/{m}/quota    returns to the quota of the configuration or of a profile; for administrators
//   DELETE /v1/models/{m}/state, DELETE /v1/state    forgets usage and reservations; 204; for administrators
//   GET  /v1/health            the state of the store; 503 if nothing can be decided
//   GET  /v1/openapi.json      the description of this API for programs
//
// decide, reserve, record and explain may name "user", "tenant", "api_key", "instance" and "qos". In decide, reserve
// and explain, a request without tokens has 0 tokens. Unknown keys are errors, and so are keys that appear twice; no
// Content-Type is needed. Model names in paths are percent-encoded. PUT of a quota needs all three members; 0 means
// unlimited.
//
// A decision is an object with these members, without those that do not apply:
//   {"allowed":…,"code":"ok","reason":…,"model":…,"tokens":…,"retry_after_seconds":…,"tier":…,"priority":…,
//   "reservation":…,"quota":{…},"usage":{…},"tiers":[…]}
// Its status is
//   200  if it is allowed; "shadowed":true says that only shadow mode allows it
//   403  if the configuration forbids it, or refuses unknown models and the model is unknown
//   413  if it can never be allowed (too_large)
//   422  if its idempotency key was used before, with another number of tokens
//   429  if it is refused; with Retry-After (whole seconds, rounded up) if waiting helps
//   503  if the store does not answer and the policy is to refuse then; with Retry-After
//
// The status of commit, refund and extend is
//   200  with "late":true if the deadline had passed; a commit or refund that is repeated gets the first answer again
//   404  unknown_reservation
//   409  already_settled, if it was settled in another way before; reservation_expired, if it can no longer be extended
//   503  store_unavailable
//
// Every error has "error":{"code":…,"message":…} (relay/server/http_error.h); a decision has it beside its other
// members. A malformed request gets 400, with the code invalid_request, invalid_name, or invalid_tokens for negative
// tokens. A body of more than 64 KiB gets 413.
//
// The state of the limits is in header fields, in one of three dialects (quota_headers.h):
//   ietf       RateLimit-Policy: "rpm";q=500;w=60, "tpm";q=30000;w=60;qu="tokens"
//              RateLimit: "rpm";r=499;t=60, …
//   openai     x-ratelimit-{limit,remaining,reset}-{requests,tokens}, reset as "1s", "6m0s"
//   anthropic  anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}, reset in RFC 3339
// A refusal has the two fields of ietf in every dialect.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "relay/server/http.h"
#include "relay/trace/span.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

enum class RateLimitDialect : uint8_t { kIetf, kOpenAi, kAnthropic };

// The reader of an answer. Only the operator is told a store's own error messages, because they contain paths,
// addresses and names of keys.
enum class QuotaAudience : uint8_t { kStrangers, kOperator };

// A call of the API, with its method and path.
struct QuotaRoute {
  enum class Call : uint8_t {
    kDecide,
    kReserve,
    kCommit,
    kRefund,
    kExtend,
    kRecord,
    kExplain,
    kModels,
    kModel,
    kSetQuota,
    kUnsetQuota,
    kReset,
    kResetAll,
    kHealth,
    kOpenApi,
  };
  // When Answer may keep its thread busy for long.
  enum class Waits : uint8_t {
    kNever,
    kForBlocking,  // if the store blocks (QuotaStore::Pace)
    kForStore,     // if the store is not in memory
    kAlways        // always, because the call visits all models
  };

  Call call;
  std::string_view method;
  std::string_view path;  // "/v1/models/{model}/quota"
  Waits waits;
  bool changes;             // true: the call changes the store, or may do so
  bool for_admins = false;  // true: the call is only for administrators
};

class QuotaApi {
 public:
  // The limiter must outlive this object. The clock, which is for the times of resets, must outlive the limiter too.
  QuotaApi(QuotaLimiter& limiter, RateLimitDialect dialect, const WallClock& clock = WallClock::System());

  static std::span<const QuotaRoute> Routes();  // all calls
  static const QuotaRoute& RouteOf(QuotaRoute::Call call);
  // Returns true if Answer may keep its thread for long with this store (QuotaRoute::Waits).
  bool MayWait(QuotaRoute::Call call) const;
  // A call to answer. If the route is for administrators, the caller must have checked that the sender is one.
  struct Asked {
    QuotaRoute::Call call;
    const HttpRequest& request;
    std::string_view model = "";  // the {model} of the path, decoded; empty if there is none
    Span span{};                  // the span of the call, if it is traced (SpanNameOf)
    QuotaAudience audience = QuotaAudience::kStrangers;
  };
  // Answers a call. Calls `done` once, on any thread, perhaps before Answer returns. The objects to which `asked`
  // refers need to live only until Answer returns.
  void Answer(const Asked& asked, std::function<void(HttpResponse)> done);

 private:
  using Done = std::function<void(HttpResponse)>;
  void Decide(const Asked& asked, const Done& done);
  void Settle(const Asked& asked, const Done& done);
  HttpResponse AnswerNow(const Asked& asked);
  HttpResponse Models(const Asked& asked);
  HttpResponse SetQuota(const std::string& model, const Asked& asked);
  HttpResponse Shown(const std::string& model, bool even_unknown, QuotaAudience audience);
  HttpResponse Health(QuotaAudience audience) const;

  QuotaLimiter& limiter_;
  const RateLimitDialect dialect_;
  const WallClock& clock_;
};

// Returns relay/limiters/openapi.json (OpenAPI 3.1), the answer of GET /v1/openapi.json.
std::string_view QuotaOpenApi();

}  // namespace weir
