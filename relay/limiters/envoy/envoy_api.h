// EnvoyApi: Envoy's rate limits over HTTP, as the published service answers them there.
//
//   POST /json            a RateLimitRequest in JSON:
//                         {"domain":"messaging","descriptors":[{"entries":[{"key":"to_number","value":"1"}]}]}
//   GET /debug/ratelimit  the limits that there are, and what came of them
//
// 200 if the request may go, 429 with Retry-After if a limit is exceeded; both with a RateLimitResponse:
// {"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":5,"unit":"DAY"},"limitRemaining":4,
// "durationUntilReset":"3600s"}]}, without members that are 0. Else {"error":{"code":…,"message":…}}: 400
// invalid_request, 403 forbidden (a page of another site), 413 body_too_long.
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
#include "relay/server/http.h"
#include "throttle/descriptors/descriptor_limiter.h"

namespace weir {

struct EnvoyRoute {
  std::string_view method;
  std::string_view path;
  bool shows = false;  // shows what other clients do
};

class EnvoyApi {
 public:
  static constexpr size_t kMostShown = 1000;

  // Both must outlive it, and it must outlive the replies. If `response_headers`, answers tell which header fields a
  // response shall have.
  EnvoyApi(DescriptorLimiter& limiter, EnvoyMetrics& metrics, bool response_headers)
      : limiter_(limiter), metrics_(metrics), response_headers_(response_headers) {}

  static std::span<const EnvoyRoute> Routes();
  // The caller's rights were checked before.
  void Answer(const EnvoyRoute& route, const HttpRequest& request, HttpReply reply);

  // Asks for a request in another form than JSON.
  void Ask(const EnvoyRequest& request, DescriptorLimiter::Done done) { request.Ask(limiter_, std::move(done)); }
  void OnUnreadable() { metrics_.OnUnreadable(); }
  // Returns the fields of one descriptor, chosen as by the published service: the last that refuses, else the first
  // that has least left. Empty if no limit applied, or without `response_headers`.
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
