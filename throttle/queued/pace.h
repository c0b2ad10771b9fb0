// Pace: says when the next request may be released, so that releases come at even distances, and up to `burst` of them
// at once after a pause. Its state is the time until which all releases are paid for. So a release that comes late does
// not make the next ones late.
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

  // Changes the pace. Releases that are not paid for yet stay owed, but at most a burst of them.
  void Change(TimePoint now, double per_second, uint32_t burst) {
    const double owed = static_cast<double>((paid_until_ - now).count()) / distance_ns_;
    Set(per_second, burst);
    paid_until_ = now;
    part_ = 0;
    if (owed > 0) Owe(std::min<double>(owed, burst) * distance_ns_);
  }

  // Returns when the next release may be made, which may be a time that has passed.
  TimePoint Next() const { return paid_until_ - ahead_; }
  // Returns how many releases may be made at the time `now`.
  uint32_t AtOnce(TimePoint now) const {
    if (now < Next()) return 0;
    return 1 + static_cast<uint32_t>(
                   std::min<double>(static_cast<double>((now - Next()).count()) / distance_ns_, burst_ - 1));
  }
  // Counts a release. `since` is the time since which a release could have been made and was wanted: releases that were
  // possible since then and were not made are still possible.
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
  Duration ahead_{};        // how long before paid_until_ a release may be made: a burst less one
  uint32_t burst_ = 1;
};

}  // namespace weir
