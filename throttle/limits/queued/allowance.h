// Allowance: says whether an endpoint may let a request pass now and, if not, when. The algorithm of the endpoint's
// configuration (endpoint_config.h) decides that.
//
// Threads: only one at a time may use an Allowance. Call Advance, with the present time, before every other function.
#pragma once

#include <cstdint>
#include <variant>

#include "config/clock.h"
#include "throttle/limits/by_name/grant_window.h"
#include "throttle/limits/queued/endpoint_config.h"
#include "throttle/limits/queued/pace.h"

namespace weir {

class Allowance {
 public:
  Allowance(const EndpointConfig& config, TimePoint now);

  // Moves the allowance on to the time `now`. Returns true if a window has ended, so that tokens are available again;
  // always returns false without token_window.
  bool Advance(TimePoint now);
  // Applies a new configuration. Requests that have passed still count, unless the algorithm changes to one that counts
  // in another way; in that case the allowance starts again, as if no request had passed.
  void Change(const EndpointConfig& config, TimePoint now);

  // Returns true if a request with that cost may pass now. The cost is a number of tokens; without token_window it does
  // not matter.
  bool Holds(uint32_t cost) const;
  // Counts a request that passes now. `since` is the time since which at least one request has always waited, or the
  // present time if none did. If a waiting request passes up to 100 ms late, this does not delay the next requests.
  void Take(uint32_t cost, TimePoint since);
  // Returns the time at which more requests or tokens can pass than now. With strict and token_bucket, returns the time
  // at which the next request may pass, which may be in the past.
  TimePoint NextRoom() const;
  // Returns how many requests (with token_window: tokens) may pass at once now.
  uint32_t left() const;
  // Returns true if a new allowance would not let more pass than this one.
  bool IsFresh() const;

 private:
  static std::variant<Pace, GrantWindow> Make(const EndpointConfig& config, TimePoint now);
  bool counts_tokens() const { return algorithm_ == EndpointConfig::Algorithm::kTokenWindow; }

  TimePoint now_;
  EndpointConfig::Algorithm algorithm_;
  Duration window_{};
  uint32_t most_ = 0;  // the most requests or tokens in a window, for the algorithms that have a window
  std::variant<Pace, GrantWindow> by_;
};

}  // namespace weir
