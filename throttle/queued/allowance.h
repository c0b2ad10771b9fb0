// Allowance: what an endpoint lets through now, and when it lets through more.
//
// Threads: one at a time. Call Advance, with the present time, before every other call.
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

  // Moves on to `now`. Returns true if tokens have come back.
  bool Advance(TimePoint now);
  // Changes the configuration. Grants that count go on counting; another algorithm begins anew.
  void Change(const EndpointConfig& config, TimePoint now);

  // Returns true if a request of that cost may pass now. The cost is in tokens; without tokens every request costs 1.
  bool Holds(uint32_t cost) const;
  // Counts a request that is let through. `since` is the time from which on it, or another, has waited without a break.
  void Take(uint32_t cost, TimePoint since);
  // Returns when it lets through more than now.
  TimePoint NextRoom() const;
  // How many requests, or tokens, it lets through at once.
  uint32_t left() const;
  // Returns true if a new one would act the same.
  bool IsFresh() const;

 private:
  static std::variant<Pace, GrantWindow> Make(const EndpointConfig& config, TimePoint now);
  bool counts_tokens() const { return algorithm_ == EndpointConfig::Algorithm::kTokenWindow; }

  TimePoint now_;
  EndpointConfig::Algorithm algorithm_;
  Duration window_{};
  uint32_t most_ = 0;  // requests or tokens in the window
  std::variant<Pace, GrantWindow> by_;
};

}  // namespace weir
