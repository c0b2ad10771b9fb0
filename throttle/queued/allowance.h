// Allowance: what an endpoint lets through now, and when it lets through more.
//
// Threads: one at a time. Advance goes before every other call, with the time of now.
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

  // True: tokens have come back.
  bool Advance(TimePoint now);
  // What counts goes on counting; another algorithm begins anew.
  void Change(const EndpointConfig& config, TimePoint now);

  // cost: in tokens; where there are none, a request is a request.
  bool Holds(uint32_t cost) const;
  // since: who is let through, or another, has waited from then on without a break.
  void Take(uint32_t cost, TimePoint since);
  // When it lets through more than now.
  TimePoint NextRoom() const;
  // Requests, or tokens, at once.
  uint32_t left() const;
  // A new one would say the same.
  bool IsFresh() const;

 private:
  static std::variant<Pace, GrantWindow> Make(const EndpointConfig& config, TimePoint now);
  bool counts_tokens() const { return algorithm_ == EndpointConfig::Algorithm::kTokenWindow; }

  TimePoint now_;
  EndpointConfig::Algorithm algorithm_;
  Duration window_{};
  uint32_t most_ = 0;  // in the window
  std::variant<Pace, GrantWindow> by_;
};

}  // namespace weir
