// Writes the header fields that state a client's limits, how much of each is left, and the time until it is reset.
//
// Usage leaves a sliding window entry by entry, and a Decision does not say when. So the time until a limit is reset is
// the first of these that applies:
//   - if the limit refuses the request: the time after which all limits would allow it (Decision::retry_after),
//   - if all of the limit is left: 0,
//   - for requests a day (max_rpd): the time until 24 h have passed since the first request of the present day,
//   - for a limit of a calendar day or month: the time until that day or month ends,
//   - for a limit of calls under way: kCallsPause (1 s), because the end of a call cannot be predicted,
//   - for a bucket: the time until it is full,
//   - for another window: the length of the window, after which no present usage counts any more.
// The dialects openai and anthropic show one limit for requests and one for tokens: the limit with the least left.
#pragma once

#include <string>

#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/rate_limit_fields.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// Returns the fields of the dialect (quota_api.h lists them) for a decision about a request of `tokens` tokens.
// `reserves` is true for a reserve, the only request that limits of calls under way refuse. If the request is refused,
// adds RateLimit-Policy and RateLimit in every dialect. Returns no fields if no limit applied.
HttpFields RateLimitFields(const Decision& decision, int64_t tokens, bool reserves, RateLimitDialect dialect,
                           WallTime now);

// Formats a wait as OpenAI does, rounded up to milliseconds: "120ms", "8.64s", "6m0s", "24h0m0s".
std::string FormatWait(Duration wait);

}  // namespace weir
