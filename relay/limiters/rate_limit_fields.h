// Writes the header fields RateLimit-Policy and RateLimit, which a draft of the IETF defines. In them the answers of
// quotas, keys and endpoints state the limits that apply to a client. Also writes the value of Retry-After.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "relay/net/http.h"

namespace weir {

// A limit and its state, for one entry of both fields.
struct LimitState {
  std::string_view policy;        // the name of the limit
  int64_t amount = 0;             // units that may be used in `window`
  Duration window{};              // 0: not stated, for a period of the calendar and for calls at once
  int64_t remaining = 0;          // units that are left
  std::optional<Duration> reset;  // the time until the limit is reset or more units are left; nullopt: not stated
  std::string_view unit = {};     // the draft's name of the unit ("tokens"); empty: requests
  std::optional<int64_t> burst;   // units that may be used at once, if the limit is a token bucket
};

// Adds both fields, with an entry for each limit. REQUIRES: `limits` is not empty.
void AddRateLimitFields(std::span<const LimitState> limits, HttpFields* fields);

// Returns the value of Retry-After for a wait: whole seconds, rounded up, at least 1.
std::string RetryAfterSeconds(Duration wait);

}  // namespace weir
