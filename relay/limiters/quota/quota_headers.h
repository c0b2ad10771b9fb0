// The header fields that tell a client its limits, how much is left of them, and when they reset.
//
// Usage leaves a sliding window piece by piece, and a decision does not say when. So the reset of a limit is
//   - if it refuses the request: the time after which the request would fit (Decision::retry_after),
//   - for a limit of a day or another period of the calendar: the time until the period ends,
//   - for a limit of requests under way at once: kCallsPause,
//   - for a bucket: the time until it is full,
//   - for another window: its length, after which nothing that was used so far counts any more,
//   - 0 if nothing is used.
// The dialects openai and anthropic show one limit for requests and one for tokens: the limit with the least left.
#pragma once

#include <string>

#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/rate_limit_fields.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Returns the fields of the dialect for a decision about a request of `tokens` tokens (quota_api.h lists them). If the
// request is refused, adds RateLimit-Policy and RateLimit in every dialect. Returns none if the decision met no limit.
HttpFields RateLimitFields(const Decision& decision, int64_t tokens, RateLimitDialect dialect, WallTime now);

// Formats a wait as OpenAI does, rounded up to milliseconds: "120ms", "8.64s", "6m0s", "24h0m0s".
std::string FormatWait(Duration wait);

}  // namespace weir
