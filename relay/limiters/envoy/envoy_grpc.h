// Envoy's rate limits over gRPC: envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit, by which Envoy asks
// whether a request may pass. The answers are those of POST /json (envoy_api.h), and a call that is answered with a
// refusal succeeds. A call fails with INVALID_ARGUMENT if its message is wrong. Envoy lets a request pass if the call
// fails, unless failure_mode_deny is set; so no value that Envoy's clients send makes a call fail.
//
// Threads: any.
#pragma once

#include <functional>

#include "relay/limiters/envoy/envoy_api.h"
#include "relay/limiters/served_limiter.h"

namespace weir {

inline constexpr const char* kEnvoyGrpcService = "envoy.service.ratelimit.v3.RateLimitService";

// Adds the gRPC service. `api` is called for each call, once the limiter is open. If `for_admins` is true, only
// administrators may ask; `refusal` makes the answer to others.
void AddEnvoyGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, bool for_admins,
                  std::function<EnvoyApi&()> api);

}  // namespace weir
