// EnvoyApi: serves Envoy's rate limits over HTTP. POST /json has the path and the answers of envoyproxy/ratelimit, the
// service that Envoy's project publishes. Envoy itself uses gRPC (envoy_grpc.h).
//
//   POST /json            a RateLimitRequest in JSON:
//                         {"domain":"messaging","descriptors":[{"entries":[{"key":"to_number","value":"1"}]}]}
//   GET /debug/ratelimit  shows the configured limits with their counts, at most kMostShown of them
//
// The answer of /json is 200 if the request may pass, and 429 with Retry-After if a limit refuses it. Its body is a
// RateLimitResponse in JSON, without members that are 0:
//   {"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":5,"unit":"DAY"},
//   "limitRemaining":4,"durationUntilReset":"3600s"}]}
// Errors are {"error":{"code":…,"message":…}}: 400 invalid_request; 401 unauthorized or 403 forbidden, if only
// administrators may make the request; 403 forbidden, if the request comes from a page of another site; 413
// body_too_long.
//
// Threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/limiters/envoy/envoy_metrics.h"
#include "relay/limiters/envoy/envoy_request.h"
#include "relay/limiters/rate_limit_fields.h"
#include "relay/net/http.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {

struct EnvoyRoute {
  std::string_view method;
  std::string_view path;
  bool shows = false;  // the answer shows what other clients have used
};

class EnvoyApi {
 public:
  static constexpr size_t kMostShown = 1000;

  // `metrics` must outlive this object. `limiter` must be destroyed before this object, because the limiter may still
  // answer requests through this object. If `response_headers` is true, answers contain RateLimit header fields, which
  // Envoy adds to the response that it sends to its client.
  EnvoyApi(DescriptorLimiter& limiter, EnvoyMetrics& metrics, bool response_headers)
      : limiter_(limiter), metrics_(metrics), response_headers_(response_headers) {}

  static std::span<const EnvoyRoute> Routes();
  // Answers a request for a route. The caller must have checked that the client may use the route. Calls `reply` once,
  // before Answer returns or later, on any thread.
  void Answer(const EnvoyRoute& route, const HttpRequest& request, HttpReply reply);

  // Passes a request to the limiter. `request` must live until Ask has returned. The limiter calls `done` once, before
  // Ask returns or later, on any thread (DescriptorLimiter::Done).
  void Ask(const EnvoyRequest& request, DescriptorLimiter::Done done) { request.Ask(limiter_, std::move(done)); }
  // Counts a request that could not be read.
  void OnUnreadable() { metrics_.OnUnreadable(); }
  // Returns the header fields that Envoy should add. They describe one descriptor, the same one as in
  // envoyproxy/ratelimit: the last descriptor over its limit that is not in quota mode or, if there is none, the
  // descriptor with the fewest hits left (the first of equals). Returns no fields if no limit applied, or if
  // `response_headers` is false.
  HttpFields HeadersToAdd(const DescriptorAnswer& answer) const;

 private:
  void AskInJson(std::string_view json, HttpReply reply);
  HttpResponse Show() const;
  std::string Write(const DescriptorAnswer& answer) const;

  DescriptorLimiter& limiter_;
  EnvoyMetrics& metrics_;
  const bool response_headers_;
};

}  // namespace weir
