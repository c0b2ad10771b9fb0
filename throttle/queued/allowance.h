// Allowance: says whether an endpoint may let a request through now and, if not, when, by the algorithm of its
// configuration (endpoint_config.h).
//
// Threads: only one at a time may use an Allowance. Call Advance, with the present time, before every other function.
#pragma once

#include <cstdint>
#include <variant>

#include "config/clock.h"
#include "throttle/by_name/grant_window.h"
#include "throttle/queued/endpoint_config.h"
#include "throttle/queued/pace.h"

namespace weir {

class Allowance {
 public:
  Allowance(const EndpointConfig& config, TimePoint now);

  // Moves on to `now`. Returns true if tokens have come back since the last call; only token_window has tokens.
  bool Advance(TimePoint now);
  // Takes a new configuration. Requests that were let through go on counting, unless the new algorithm counts in
  // another way than the old one; then the allowance begins anew.
  void Change(const EndpointConfig& config, TimePoint now);

  // Returns true if a request with that cost may pass now. The cost is a number of tokens; without token_window every
  // request costs 1.
  bool Holds(uint32_t cost) const;
  // Counts a request that is let through. `since` is the time since which requests have waited without a break: if a
  // request is let through up to 100 ms late, this does not delay the next ones.
  void Take(uint32_t cost, TimePoint since);
  // Returns when more may pass than now.
  TimePoint NextRoom() const;
  // Returns how many requests, or with token_window tokens, may pass at once now.
  uint32_t left() const;
  // Returns true if a new allowance would let through as much as this one.
  bool IsFresh() const;

 private:
  static std::variant<Pace, GrantWindow> Make(const EndpointConfig& config, TimePoint now);
  bool counts_tokens() const { return algorithm_ == EndpointConfig::Algorithm::kTokenWindow; }

  TimePoint now_;
  EndpointConfig::Algorithm algorithm_;
  Duration window_{};
  uint32_t most_ = 0;  // requests or tokens in a window, for the algorithms that have one
  std::variant<Pace, GrantWindow> by_;
};

}  // namespace weir
