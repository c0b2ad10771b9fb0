// Pace: says when the next request may be released, so that releases come at even intervals, and up to `burst` of them
// at once after a pause. Each release takes up one interval; the state is the end of all intervals that are taken up.
// So a release that comes late does not make the next ones late.
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
  // `burst` is at least 1; the whole burst may be released at once from the beginning.
  Pace(TimePoint now, double per_second, uint32_t burst) : paid_until_(now) { Set(per_second, burst); }

  // Changes the pace. Releases that were made ahead of their intervals still count, but at most a burst of them.
  void Change(TimePoint now, double per_second, uint32_t burst) {
    const double owed = static_cast<double>((paid_until_ - now).count()) / distance_ns_;
    Set(per_second, burst);
    paid_until_ = now;
    part_ = 0;
    if (owed > 0) Owe(std::min<double>(owed, burst) * distance_ns_);
  }

  // Returns when the next release may be made, which may be a time in the past.
  TimePoint Next() const { return paid_until_ - ahead_; }
  // Returns how many releases may be made at the time `now`.
  uint32_t AtOnce(TimePoint now) const {
    if (now < Next()) return 0;
    return 1 + static_cast<uint32_t>(
                   std::min<double>(static_cast<double>((now - Next()).count()) / distance_ns_, burst_ - 1));
  }
  // Counts a release. `since` is the time since which a release was wanted and possible: releases that could have been
  // made since then may still be made.
  void Take(TimePoint since) {
    if (since > paid_until_) {
      paid_until_ = since;
      part_ = 0;
    }
    Owe(distance_ns_);
  }
  // Returns true if a new pace, made at `now`, would act the same.
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

  TimePoint paid_until_;
  double part_ = 0;         // the part of a nanosecond beyond paid_until_
  double distance_ns_ = 0;  // between two releases
  Duration ahead_{};        // how long before paid_until_ a release may be made: burst − 1 intervals
  uint32_t burst_ = 1;
};

}  // namespace weir
