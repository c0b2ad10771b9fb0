// envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit: may this request go? As POST /json (envoy_api.h), but
// that over a limit is an answer as any other. INVALID_ARGUMENT says what of the request is wrong. Envoy lets pass what
// ends in an error, unless failure_mode_deny is set, so no value that a client sends makes one.
//
// Threads: any.
#pragma once

#include <functional>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

inline constexpr const char* kEnvoyGrpcService = "envoy.service.ratelimit.v3.RateLimitService";

// api: those of the limiter, from when it is open. for_admins: nobody else may ask.
void AddEnvoyGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, bool for_admins,
                  std::function<EnvoyApi&()> api);

}  // namespace weir
