// The IETF's RateLimit-Policy and RateLimit header fields, and Retry-After: what every limiter here tells of its
// limits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "relay/server/http.h"

namespace weir {

struct LimitState {
  std::string_view policy;
  int64_t amount = 0;  // in `window`
  Duration window{};   // 0: it has no length that is always the same
  int64_t remaining = 0;
  std::optional<Duration> reset;
  std::string_view unit = {};  // the quota unit; empty: requests
  std::optional<int64_t> burst;
};

// At least one.
void AddRateLimitFields(std::span<const LimitState> limits, HttpFields* fields);

// Whole seconds, rounded up, at least 1.
std::string RetryAfterSeconds(Duration wait);

}  // namespace weir
