// RedisBreaker: decides whether a server is worth asking. Closed: it is asked. After so many failures in a row it
// opens: calls are answered at once. After a pause one probe is sent (half open), which closes it or doubles the pause.
//
// A probe is not a call, and a server may answer one and not the other (for example if the user may not touch the
// keys): the pause begins anew only when a call was answered, and until then one more failure opens it again.
//
// Has no clock: its owner waits. One thread.
#pragma once

#include <cstdint>

#include "config/clock.h"

namespace weir {

class RedisBreaker {
 public:
  enum class State : uint8_t { kClosed, kHalfOpen, kOpen };

  RedisBreaker(uint32_t failures, Duration first, Duration longest)
      : most_failures_(failures == 0 ? 1 : failures), first_(first), longest_(longest), pause_(first) {}

  State state() const { return state_; }
  bool lets_pass() const { return state_ == State::kClosed; }

  // The result of a call. Failed returns true if that opened it, so that a probe is to be sent after NextPause().
  void Answered();
  bool Failed();
  // Opens at once: there is no connection, or the server accepts no writes. Returns true if it was closed.
  bool Trip();

  void Probing();
  void ProbeAnswered();
  void ProbeFailed();
  // How long to wait for the next probe; each is twice the one before, up to the longest.
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
