// Pace: says when the next request may pass, so that requests pass at even intervals, and up to `burst` of them at once
// after a pause. Each request uses up one interval, whenever it passes. So a request that passes late does not delay
// the next ones.
//
// Threads: only one at a time may use a Pace.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "config/clock.h"

namespace weir {

class Pace {
 public:
  // `burst` is at least 1. A whole burst may pass at once from the beginning.
  Pace(TimePoint now, double per_second, uint32_t burst) : paid_until_(now) { Set(per_second, burst); }

  // Changes the rate and the burst. Intervals that were used up in advance stay used up, but at most a burst of them.
  void Change(TimePoint now, double per_second, uint32_t burst) {
    const double owed = static_cast<double>((paid_until_ - now).count()) / distance_ns_;
    Set(per_second, burst);
    paid_until_ = now;
    part_ = 0;
    if (owed > 0) Owe(std::min<double>(owed, burst) * distance_ns_);
  }

  // Returns the time at which the next request may pass, which may be in the past.
  TimePoint Next() const { return paid_until_ - ahead_; }
  // Returns how many requests may pass at the time `now`.
  uint32_t AtOnce(TimePoint now) const {
    if (now < Next()) return 0;
    return 1 + static_cast<uint32_t>(
                   std::min<double>(static_cast<double>((now - Next()).count()) / distance_ns_, burst_ - 1));
  }
  // Counts a request that passes. `since` is the time since which at least one request has always waited, or the
  // present time. Intervals before `since` that no request has used are lost; later ones can still be used.
  void Take(TimePoint since) {
    if (since > paid_until_) {
      paid_until_ = since;
      part_ = 0;
    }
    Owe(distance_ns_);
  }
  // Returns true if a new Pace, made at `now`, would let the same requests pass.
  bool IsFresh(TimePoint now) const { return paid_until_ <= now; }

 private:
  void Set(double per_second, uint32_t burst) {
    distance_ns_ = 1e9 / per_second;
    burst_ = burst;
    ahead_ = Duration(static_cast<int64_t>(distance_ns_ * (burst - 1)));
  }
  void Owe(double ns) {
    const double exact = part_ + ns;
    const auto whole = static_cast<int64_t>(exact);
    paid_until_ += Duration(whole);
    part_ = exact - static_cast<double>(whole);
  }

  TimePoint paid_until_;    // the end of the last interval that is used up; may be in the future
  double part_ = 0;         // the fraction of a nanosecond to add to paid_until_
  double distance_ns_ = 0;  // the length of an interval
  Duration ahead_{};        // how long before paid_until_ the next request may pass: burst − 1 intervals
  uint32_t burst_ = 1;
};

}  // namespace weir
