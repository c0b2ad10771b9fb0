// The header fields that tell a client where it stands with its limits.
//
// What a sliding window has used leaves it piece by piece, and a decision does not say when. So a reset is
//   refused  the time after which the request would fit (Decision::retry_after), of the limits that refuse it,
//   day      the end of the day that runs,
//   bucket   the time until it is full,
//   window   its length, after which at the latest nothing of now counts any more; 0 where nothing counts.
// In openai and anthropic it is of the limit that has the least left, for requests and for tokens.
#pragma once

#include <string>

#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/rate_limit_fields.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// RateLimit-Policy, RateLimit, x-ratelimit-…, anthropic-ratelimit-…: of the decision about a request with so many
// tokens. A refusal has the first two in every dialect. Nothing where there is no limit.
HttpFields RateLimitFields(const Decision& decision, int64_t tokens, RateLimitDialect dialect, WallTime now);

// As OpenAI writes them, rounded up to milliseconds: "120ms", "8.64s", "6m0s", "24h0m0s".
std::string FormatWait(Duration wait);

}  // namespace weir
