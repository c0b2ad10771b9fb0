// The header fields that tell a client where it stands with its limits.
//
// The usage of a sliding window leaves it piece by piece, and a decision does not say when. So a reset is
//   refused  the time after which the request would fit (Decision::retry_after), for the limits that refuse it,
//   day      the end of the current day,
//   bucket   the time until it is full,
//   window   its length, after which nothing that was counted so far counts any more; 0 if nothing counts.
// In openai and anthropic it is that of the limit with the least left, for requests and for tokens.
#pragma once

#include <string>

#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/rate_limit_fields.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Returns RateLimit-Policy, RateLimit, x-ratelimit-…, anthropic-ratelimit-… for the decision about a request of
// `tokens`. A refusal has the first two in every dialect. Empty if there is no limit.
HttpFields RateLimitFields(const Decision& decision, int64_t tokens, RateLimitDialect dialect, WallTime now);

// Formats a wait as OpenAI does, rounded up to milliseconds: "120ms", "8.64s", "6m0s", "24h0m0s".
std::string FormatWait(Duration wait);

}  // namespace weir
