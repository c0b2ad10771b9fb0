// Serves Envoy's rate limits over gRPC: envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit, which Envoy calls
// to ask whether a request may pass. The answers are those of POST /json (envoy_api.h); a refusal is an answer
// (OVER_LIMIT), not an error of gRPC. A call fails with INVALID_ARGUMENT if its message is wrong. If a call fails,
// Envoy lets the request pass, unless failure_mode_deny is set; so no value that a client of Envoy sends makes a call
// fail.
//
// Threads: any.
#pragma once

#include <functional>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

inline constexpr const char* kEnvoyGrpcService = "envoy.service.ratelimit.v3.RateLimitService";

// Adds the gRPC service. `api` returns the EnvoyApi; it is called for each gRPC call, and not before the limiter is
// open. If `for_admins` is true, only administrators may call, and others get the answer of `refusal`.
void AddEnvoyGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, bool for_admins,
                  std::function<EnvoyApi&()> api);

}  // namespace weir
