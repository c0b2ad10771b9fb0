// A bucket of bytes, refilled continuously at a rate and never beyond its depth. Time is an argument; a clock that
// steps back refills nothing, and refilling goes on from there. At an infinite rate everything passes. Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/clock.h"

namespace weir {

class TokenBucket {
 public:
  // The time up to `now` still counts at the old rate.
  void SetRate(TimePoint now, double bytes_per_second, double depth_bytes) {
    Refill(now);
    bytes_per_second_ = std::max(0.0, bytes_per_second);  // 0 for NaN too
    depth_ = depth_bytes;
    tokens_ = std::min(tokens_, depth_);
  }

  void SetTokens(TimePoint now, double tokens) {
    at_ = now;
    tokens_ = std::min(tokens, depth_);
  }

  void Refill(TimePoint now) {
    if (now > at_)
      tokens_ = unlimited() ? depth_ : std::min(depth_, tokens_ + bytes_per_second_ * ToSeconds(now - at_));
    at_ = now;
  }

  // More than the bucket can hold passes when it is full, and leaves a debt.
  bool Has(double bytes) const { return unlimited() || tokens_ >= std::min(bytes, depth_); }

  // `lowest` bounds the debt that this makes; an existing debt stays.
  void Take(double bytes, double lowest = -std::numeric_limits<double>::infinity()) {
    if (!unlimited()) tokens_ = std::max(tokens_ - bytes, std::min(tokens_, lowest));
  }

  // The time from the last refill until Has(bytes), if `bytes_ahead` are taken before.
  double SecondsUntil(double bytes, double bytes_ahead = 0) const {
    const double missing = bytes_ahead + std::min(bytes, depth_) - tokens_;
    if (missing <= 0 || unlimited()) return 0;
    return bytes_per_second_ > 0 ? missing / bytes_per_second_ : std::numeric_limits<double>::infinity();
  }

  bool unlimited() const { return std::isinf(bytes_per_second_); }
  double tokens() const { return tokens_; }
  double bytes_per_second() const { return bytes_per_second_; }

 private:
  double tokens_ = 0;
  double bytes_per_second_ = 0;
  double depth_ = 0;
  TimePoint at_{};
};

}  // namespace weir
