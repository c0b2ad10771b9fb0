// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit: may this request go? Answers as POST /json
// (envoy_api.h), but a refusal is an answer like any other. INVALID_ARGUMENT says what is wrong with the request. Envoy
// lets a request pass if the call ends in an error, unless failure_mode_deny is set, so no value that a client sends
// makes an error.
//
// Threads: any.
#pragma once

#include <functional>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

inline constexpr const char* kEnvoyGrpcService = "envoy.service.ratelimit.v3.RateLimitService";

// `api` returns the limiter's API once it is open. If `for_admins`, only administrators may ask.
void AddEnvoyGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, bool for_admins,
                  std::function<EnvoyApi&()> api);

}  // namespace weir
