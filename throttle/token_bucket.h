// TokenBucket: a bucket of bytes that refills at a constant rate, up to its depth; work that passes takes bytes out.
// The caller passes the time to its functions. If the clock steps back, nothing is refilled for that time, and
// refilling goes on from the new time. At an infinite rate everything passes. Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/clock.h"

namespace weir {

class TokenBucket {
 public:
  // Sets the rate from `now` on, and the depth. Bytes beyond a smaller depth are lost. A rate that is below 0 or not a
  // number counts as 0.
  void SetRate(TimePoint now, double bytes_per_second, double depth_bytes) {
    Refill(now);
    bytes_per_second_ = std::max(0.0, bytes_per_second);  // 0 for NaN too
    depth_ = depth_bytes;
    tokens_ = std::min(tokens_, depth_);
  }

  // Sets how many bytes are in the bucket at `now`, at most its depth. A negative number is a debt.
  void SetTokens(TimePoint now, double tokens) {
    at_ = now;
    tokens_ = std::min(tokens, depth_);
  }

  // Adds the bytes for the time since the last refill.
  void Refill(TimePoint now) {
    if (now > at_)
      tokens_ = unlimited() ? depth_ : std::min(depth_, tokens_ + bytes_per_second_ * ToSeconds(now - at_));
    at_ = now;
  }

  // Returns true if `bytes` may pass now. More bytes than the depth never pass at once, only in pieces.
  bool Has(double bytes) const { return unlimited() || tokens_ >= bytes; }

  // Takes `bytes` out, even if that leaves a debt, but never lowers the content below `lowest`. Takes nothing if the
  // content is below `lowest` already, or if the rate is infinite.
  void Take(double bytes, double lowest = -std::numeric_limits<double>::infinity()) {
    if (!unlimited()) tokens_ = std::max(tokens_ - bytes, std::min(tokens_, lowest));
  }

  // Forgives what is missing to `lowest`, a content below 0.
  void Forgive(double lowest) { tokens_ = std::max(tokens_, lowest); }

  // Puts bytes back that were taken and not used. Bytes beyond the depth are lost.
  void PutBack(double bytes) { tokens_ = std::min(depth_, tokens_ + bytes); }

  // Returns the seconds from the last refill until `bytes` have passed, in pieces if they are more than the depth;
  // infinity if the rate is 0 and the bucket does not have enough bytes.
  double SecondsUntil(double bytes) const {
    const double missing = bytes - tokens_;
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
