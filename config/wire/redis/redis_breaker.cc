#include "config/wire/redis/redis_breaker.h"

#include <algorithm>

namespace weir {

void RedisBreaker::Answered() {
  if (state_ != State::kClosed) return;  // this call was sent before the breaker opened; only the probe counts now
  failures_ = 0;
  pause_ = first_;
}

bool RedisBreaker::Failed() {
  if (state_ != State::kClosed || ++failures_ < most_failures_) return false;
  state_ = State::kOpen;
  return true;
}

bool RedisBreaker::Trip() {
  if (state_ != State::kClosed) return false;
  state_ = State::kOpen;
  return true;
}

void RedisBreaker::Probing() { state_ = State::kHalfOpen; }

void RedisBreaker::ProbeAnswered() {
  state_ = State::kClosed;
  failures_ = most_failures_ - 1;
}

void RedisBreaker::ProbeFailed() { state_ = State::kOpen; }

Duration RedisBreaker::NextPause() {
  const Duration pause = pause_;
  pause_ = std::min(longest_, 2 * pause_);
  return pause;
}

}  // namespace weir
