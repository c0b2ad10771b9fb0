// The IETF's RateLimit-Policy and RateLimit header fields, and Retry-After: every limiter here tells its limits with
// them.
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
  Duration window{};   // 0 if its length varies
  int64_t remaining = 0;
  std::optional<Duration> reset;
  std::string_view unit = {};  // the quota unit; empty: requests
  std::optional<int64_t> burst;
};

// There must be at least one limit.
void AddRateLimitFields(std::span<const LimitState> limits, HttpFields* fields);

// Returns whole seconds, rounded up, at least 1.
std::string RetryAfterSeconds(Duration wait);

}  // namespace weir
