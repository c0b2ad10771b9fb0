// RedisBreaker: a circuit breaker, which decides whether its owner should send calls to a server. While the breaker is
// closed, the owner sends calls. After `failures` failed calls in a row the breaker opens, and the owner ends calls at
// once with the problem. After a pause, the owner sends one probe; the breaker is half open until the result of the
// probe is known. If the server answers the probe, the breaker closes; if not, it opens again, and the next pause is
// twice as long, up to `longest`.
//
// A server may answer a probe and still fail calls, for example if the user may not access the keys. So when a probe
// has closed the breaker, a single failed call opens it again, until a call has succeeded. Only a call that succeeds
// makes the pauses short again.
//
// The breaker has no clock: its owner waits for the pauses. Threads: only one at a time may use a RedisBreaker.
#pragma once

#include <cstdint>

#include "config/clock.h"

namespace weir {

class RedisBreaker {
 public:
  enum class State : uint8_t { kClosed, kHalfOpen, kOpen };

  // `failures` is the number of failed calls in a row that open the breaker; 0 counts as 1. `first` and `longest` are
  // the first and the longest pause.
  RedisBreaker(uint32_t failures, Duration first, Duration longest)
      : most_failures_(failures == 0 ? 1 : failures), first_(first), longest_(longest), pause_(first) {}

  State state() const { return state_; }
  // Returns true if the owner may send calls.
  bool lets_pass() const { return state_ == State::kClosed; }

  // The owner reports the result of a call: Answered means success. Both functions do nothing unless the breaker is
  // closed. Failed returns true if this failure has opened the breaker; the owner must then send a probe after
  // NextPause().
  void Answered();
  bool Failed();
  // Opens the breaker at once; for a server without a connection, or one that refuses writes. Returns true if the
  // breaker was closed; otherwise does nothing and returns false.
  bool Trip();

  // The owner reports that it has sent a probe, and the result of the probe.
  void Probing();
  void ProbeAnswered();
  void ProbeFailed();
  // Returns the pause before the next probe. Each pause is twice as long as the one before, up to `longest`, until
  // Answered makes the next one `first` again.
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
