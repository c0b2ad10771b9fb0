#include "relay/limiters/rate_limit_fields.h"

#include <algorithm>
#include <chrono>

namespace weir {
namespace {

using std::chrono::seconds;

// Returns the number as an Integer of RFC 8941, which has at most 15 digits.
std::string FieldInteger(int64_t value) { return std::to_string(std::clamp<int64_t>(value, 0, 999'999'999'999'999)); }
std::string WholeSeconds(Duration d) { return FieldInteger(std::chrono::ceil<seconds>(d).count()); }

}  // namespace

void AddRateLimitFields(std::span<const LimitState> limits, HttpFields* fields) {
  constexpr size_t kBytesOfMost = 64;
  std::string policies;
  std::string states;
  policies.reserve(limits.size() * kBytesOfMost);
  states.reserve(limits.size() * kBytesOfMost);
  for (const LimitState& limit : limits) {
    const std::string_view begin = policies.empty() ? "\"" : ", \"";
    policies.append(begin).append(limit.policy).append("\";q=").append(FieldInteger(limit.amount));
    if (limit.window > Duration::zero()) policies.append(";w=").append(WholeSeconds(limit.window));
    if (!limit.unit.empty()) policies.append(";qu=\"").append(limit.unit).append("\"");
    if (limit.burst) policies.append(";weir-burst=").append(FieldInteger(*limit.burst));
    states.append(begin).append(limit.policy).append("\";r=").append(FieldInteger(limit.remaining));
    if (limit.reset) states.append(";t=").append(WholeSeconds(*limit.reset));
  }
  fields->emplace_back("RateLimit-Policy", std::move(policies));
  fields->emplace_back("RateLimit", std::move(states));
}

std::string RetryAfterSeconds(Duration wait) {
  return std::to_string(std::max<int64_t>(1, std::chrono::ceil<seconds>(wait).count()));
}

}  // namespace weir
