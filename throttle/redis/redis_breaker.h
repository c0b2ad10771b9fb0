// RedisBreaker: a circuit breaker, which decides whether a server is worth asking. While it is closed, calls are sent.
// After `failures` failed calls in a row it opens, and calls are answered at once with the problem. After a pause its
// owner sends one probe (half open). If the probe is answered, the breaker closes; if not, it opens again, and the next
// pause is twice as long.
//
// A server may answer a probe and still fail calls, for example if the user may not touch the keys. So after a probe
// one more failed call opens the breaker again, and the pauses start anew only when a call was answered.
//
// The breaker has no clock: its owner waits for the pauses. Threads: only one at a time may use it.
#pragma once

#include <cstdint>

#include "config/clock.h"

namespace weir {

class RedisBreaker {
 public:
  enum class State : uint8_t { kClosed, kHalfOpen, kOpen };

  // `failures`: 0 counts as 1. `first` and `longest` bound the pauses.
  RedisBreaker(uint32_t failures, Duration first, Duration longest)
      : most_failures_(failures == 0 ? 1 : failures), first_(first), longest_(longest), pause_(first) {}

  State state() const { return state_; }
  // Returns true if calls may be sent.
  bool lets_pass() const { return state_ == State::kClosed; }

  // Report the result of a call, and do nothing unless the breaker is closed. Failed returns true if this failure
  // opened the breaker: the caller must then send a probe after NextPause().
  void Answered();
  bool Failed();
  // Opens the breaker at once, because there is no connection or because the server accepts no writes. Returns true if
  // it was closed; otherwise does nothing.
  bool Trip();

  // Report that a probe was sent, and its result.
  void Probing();
  void ProbeAnswered();
  void ProbeFailed();
  // Returns the pause before the next probe. Each pause is twice as long as the one before, up to `longest`.
  Duration NextPause();

 private:
  const uint32_t most_failures_;
  const Duration first_;
  const Duration longest_;
  Duration pause_;
  uint32_t failures_ = 0;
  State state_ = State::kClosed;
};

}  // namespace weir
