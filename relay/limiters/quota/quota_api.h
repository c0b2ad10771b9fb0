// QuotaApi: the quota limiter as JSON over HTTP, whatever carries it: a server's routes, or `weir quota` in its own
// process. relay/limiters/openapi.json has every key and every answer.
//
//   POST /v1/decide   {"model":"gpt-4o","tokens":900}          whether it would be allowed now; charges nothing
//                     {…,"charge":true}                         and charges, if it is allowed
//   POST /v1/reserve  {"model":"gpt-4o","tokens":900,"ttl_seconds":600}
//   POST /v1/extend   {"reservation":"…","ttl_seconds":600}    more time, counted from now
//   POST /v1/commit   {"reservation":"…","tokens":1100}  or  {…,"prompt_tokens":800,"output_tokens":300}
//   POST /v1/refund   {"reservation":"…"}
//   POST /v1/record   {"model":"gpt-4o","prompt_tokens":800,"output_tokens":300}  or  {…,"tokens":1100}
//   POST /v1/explain  as decide; with every tier's state, always 200
//   GET  /v1/models            sorted, with quota and usage, a page; ?after=m, ?limit=1000; "next" if there are more
//   GET  /v1/models/{m}        one; 404 if it is not known
//   PUT  /v1/models/{m}/quota  {"max_rpm":500,"max_tpm":30000,"max_rpd":0}     administrators
//   DELETE /v1/models/{m}/quota                  administrators; the configuration's or a profile's applies again
//   DELETE /v1/models/{m}/state, DELETE /v1/state                              administrators; 204
//   GET  /v1/health            the store and its breaker; 503 if nothing can be decided
//   GET  /v1/openapi.json      this, for programs
//
// decide, reserve, record and explain may name "user", "tenant", "api_key", "instance" and "qos". Without tokens it is
// a request of 0 tokens. Unknown keys are errors, and so are keys that appear twice; no Content-Type is needed. Model
// names in paths are percent-encoded. PUT of a quota needs all three members; 0 is unlimited.
//
// A decision is {"allowed":…,"code":"ok","reason":…,"model":…,"tokens":…,"retry_after_seconds":…,"tier":…,"priority":…,
// "reservation":…,"quota":{…},"usage":{…},"tiers":[…]}, without members that do not apply. 200 if it is allowed, with
// "shadowed":true if only shadow mode allows it; 429 if it is refused, with Retry-After (whole seconds, rounded up) if
// waiting helps; 413 if it can never go (too_large); 503, with Retry-After, if the store is away and the policy is to
// refuse; 403 if the model may not be used because it is unknown. Every answer but 200 has
// "error":{"code":…,"message":…} (relay/server/http_error.h), a decision besides its own members. A malformed request
// gets 400, with "invalid_request", "invalid_tokens" if they are negative, or "invalid_name". A body of more than 64
// KiB gets 413. commit, refund and extend answer 200, with "late":true if the deadline had passed; or the same with 404
// and "unknown_reservation"; 409 and "already_settled", if it was settled otherwise before, or "reservation_expired",
// if it can no longer be extended; or 503 and "store_unavailable". A commit or refund that is repeated gets the first
// answer again.
//
// The limits' state is in the header fields of the dialect (quota_headers.h):
//   ietf       RateLimit-Policy: "rpm";q=500;w=60, "tpm";q=30000;w=60;qu="tokens"
//              RateLimit: "rpm";r=499;t=60, …
//   openai     x-ratelimit-{limit,remaining,reset}-{requests,tokens}, reset as "1s", "6m0s"
//   anthropic  anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}, reset in RFC 3339
// A refusal has the first two fields of ietf in every dialect.
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

// Only operators get the words of a store in trouble: they contain paths, addresses and names of keys.
enum class QuotaAudience : uint8_t { kStrangers, kOperator };

// One call of the API, its path split at the variable part.
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
  // Says when Answer's thread may have to wait for long: never; if the store blocks; if the store is not in memory;
  // always, since all models are gone through.
  enum class Waits : uint8_t { kNever, kForBlocking, kForStore, kAlways };

  Call call;
  std::string_view method;
  std::string_view path;  // "/v1/models/{model}/quota"
  Waits waits;
  bool changes;  // changes, or may change, what the store holds
  bool for_admins = false;
};

class QuotaApi {
 public:
  // The limiter and the clock (for reset times) must outlive it.
  QuotaApi(QuotaLimiter& limiter, RateLimitDialect dialect, const WallClock& clock = WallClock::System());

  static std::span<const QuotaRoute> Routes();
  static const QuotaRoute& RouteOf(QuotaRoute::Call call);
  // True if Answer may keep its thread for long: it waits for the store, or goes through all models.
  bool MayWait(QuotaRoute::Call call) const;
  // A call. Its caller was found to be an administrator, if the route is for administrators.
  struct Asked {
    QuotaRoute::Call call;
    const HttpRequest& request;
    std::string_view model = "";  // stands in the path for {model}; decoded
    Span span{};                  // belongs to a call that quota_call.h traces
    QuotaAudience audience = QuotaAudience::kStrangers;
  };
  // Calls `done` once, by any thread, perhaps before this returns; what `asked` refers to need only last until this
  // does.
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

// relay/limiters/openapi.json (OpenAPI 3.1), which GET /v1/openapi.json answers with.
std::string_view QuotaOpenApi();

}  // namespace weir
