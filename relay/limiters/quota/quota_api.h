// QuotaApi: the API of the quota limiter (throttle/limits/quota/quota_limiter.h), JSON over HTTP. The routes of a
// server call it, and so does `weir quota` if it opens a store itself. relay/limiters/openapi.json describes every
// member and every answer.
//
// A client reserves the estimated tokens of an LLM call before the call. After it, the client settles the reservation:
// commit charges what the call really used, refund releases the reservation. record charges a call without reservation.
//
//   POST /v1/decide   {"model":"gpt-4o","tokens":900}          whether this would be allowed now; charges nothing
//                     {…,"charge":true}                        the same, and charges if it is allowed
//   POST /v1/reserve  {"model":"gpt-4o","tokens":900,"ttl_seconds":600}
//   POST /v1/extend   {"reservation":"…","ttl_seconds":600}    moves the deadline to 600 s from now, but never back
//   POST /v1/commit   {"reservation":"…","tokens":1100}  or  {…,"prompt_tokens":800,"output_tokens":300}
//   POST /v1/refund   {"reservation":"…"}
//   POST /v1/record   {"model":"gpt-4o","prompt_tokens":800,"output_tokens":300}  or  {…,"tokens":1100}
//   POST /v1/explain  decides as decide does, and adds the state of every tier; 200 even if the request is refused
//   GET  /v1/models   a page of models with quota and usage, sorted; ?after=m, ?limit=1000; "next" if there are more
//   GET  /v1/models/{m}        one model; 404 if it has no quota and no usage
//   PUT  /v1/models/{m}/quota  {"max_rpm":500,"max_tpm":30000,"max_rpd":0}; for administrators
//   DELETE /v1/models/{m}/quota    removes what PUT has set: the quota of the configuration applies again, or else the
//                                  one of the provider's profile; for administrators
//   DELETE /v1/models/{m}/state, DELETE /v1/state    forgets usage and reservations; 204; for administrators
//   GET  /v1/health            the state of the store; 503 if nothing can be decided
//   GET  /v1/openapi.json      the description of this API for programs
//
// decide, reserve, record and explain may also have "user", "tenant", "api_key", "instance" (the GPU instance) and
// "qos" (the class of service), each of which may have limits (tiers). decide, reserve and record may have
// "idempotency_key": the same request with the same key counts once. A commit with "partial":true reports the tokens so
// far of a call that goes on. In decide, reserve and explain, a request without tokens has 0 tokens. Unknown members
// and members that appear twice are errors. No Content-Type is needed. Model names in paths are percent-encoded. PUT of
// a quota needs all three members; 0 means unlimited.
//
// A decision is an object with these members, except those that do not apply:
//   {"allowed":…,"code":"ok","reason":…,"shadowed":…,"model":…,"counted_as":…,"tokens":…,"cost":…,"again":…,
//   "retry_after_seconds":…,"tier":…,"priority":…,"reservation":…,"quota":{…},"usage":{…},"tiers":[…]}
// Its status is 200 for explain. For the other calls it is
//   200  if the request is allowed; "shadowed":true says that only shadow mode allows it
//   403  if the configuration forbids the request, or if it refuses unknown models and the model is unknown
//   413  if the request can never be allowed (too_large)
//   422  if the request's idempotency key was used before with another number of tokens
//   429  if a limit refuses the request, or there is no room for another name or reservation; with Retry-After (whole
//        seconds, rounded up) if it is known after which time the request would fit
//   503  if the store does not answer; with Retry-After. But with WEIR_QUOTA_WHEN_STORE_AWAY=allow, and in shadow mode,
//        decide and reserve allow the request
//
// The status of commit, refund and extend is
//   200  with "late":true if a commit or refund came after the deadline. A commit or refund that is repeated gets the
//        first answer again
//   404  unknown_reservation
//   409  already_settled, if the reservation was settled before, but not in the same way with the same tokens;
//        reservation_expired, if an extend or a partial commit came after the deadline
//   503  store_unavailable; with Retry-After
//
// Every error has "error":{"code":…,"message":…} (relay/net/http_error.h); a refused decision has it beside its other
// members. A malformed request gets 400 with the code invalid_request, invalid_name or, for negative tokens,
// invalid_tokens. A body of more than 64 KiB gets 413 (body_too_long).
//
// The answers to decide, reserve, record and explain, except 400, have header fields with the state of the limits that
// applied, in one of three dialects (quota_headers.h):
//   ietf       RateLimit-Policy: "rpm";q=500;w=60, "tpm";q=30000;w=60;qu="tokens"
//              RateLimit: "rpm";r=499;t=60, …
//   openai     x-ratelimit-{limit,remaining,reset}-{requests,tokens}, reset as "1s", "6m0s"
//   anthropic  anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}, reset in RFC 3339
// A refused request gets both fields of `ietf` in every dialect.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "relay/net/http.h"
#include "relay/observe/trace/span.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

enum class RateLimitDialect : uint8_t { kIetf, kOpenAi, kAnthropic };

// The reader of an answer. Only answers for kOperator contain the store's own error messages, because these may contain
// paths, addresses and names of Redis keys.
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
  // When Answer may block its thread.
  enum class Waits : uint8_t {
    kNever,
    kForBlocking,  // if the store is Pace::kBlocks (QuotaStore)
    kForStore,     // if the store is not Pace::kAtOnce
    kAlways        // always, because the call reads or resets all models
  };

  Call call;
  std::string_view method;
  std::string_view path;  // "/v1/models/{model}/quota"
  Waits waits;
  bool changes;                     // true: the call may change the store
  bool for_admins = false;          // true: the call is only for administrators
  std::string_view span_name = {};  // empty: the call is never traced
};

class QuotaApi {
 public:
  // `clock` is for the times in header fields. `limiter` must outlive this object, and `clock` must outlive `limiter`,
  // which may still answer calls after this object is destroyed.
  QuotaApi(QuotaLimiter& limiter, RateLimitDialect dialect, const WallClock& clock = WallClock::System());

  static std::span<const QuotaRoute> Routes();  // all calls
  static const QuotaRoute& RouteOf(QuotaRoute::Call call);
  // Returns true if Answer may block its thread in this call, with the store in use (QuotaRoute::Waits).
  bool MayWait(QuotaRoute::Call call) const;
  // A call to answer. If its route is for administrators, the caller must have checked that the client is one.
  struct Asked {
    QuotaRoute::Call call;
    const HttpRequest& request;
    std::string_view model = "";  // the {model} of the path, decoded; empty if there is none
    Span span{};                  // the call's span of a trace; empty if the call is not traced
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
