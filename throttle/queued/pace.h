// Pace: releases at even distances, and after a pause up to a burst of them at once. It is kept as the moment until
// which all that was released is paid for, so a release that comes late does not move those that follow: no drift.
//
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "config/clock.h"

namespace weir {

class Pace {
 public:
  // `burst` is 1 or more.
  Pace(TimePoint now, double per_second, uint32_t burst) : paid_until_(now) { Set(per_second, burst); }

  // Changes the pace. The debt stays the same number of releases, but at most a burst.
  void Change(TimePoint now, double per_second, uint32_t burst) {
    const double owed = static_cast<double>((paid_until_ - now).count()) / distance_ns_;
    Set(per_second, burst);
    paid_until_ = now;
    part_ = 0;
    if (owed > 0) Owe(std::min<double>(owed, burst) * distance_ns_);
  }

  TimePoint Next() const { return paid_until_ - ahead_; }
  uint32_t AtOnce(TimePoint now) const {
    if (now < Next()) return 0;
    return 1 + static_cast<uint32_t>(
                   std::min<double>(static_cast<double>((now - Next()).count()) / distance_ns_, burst_ - 1));
  }
  // Counts a release. Releases that were possible from `since` on, and were not made, still are.
  void Take(TimePoint since) {
    if (since > paid_until_) {
      paid_until_ = since;
      part_ = 0;
    }
    Owe(distance_ns_);
  }
  // Returns true if a new one would act the same.
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
  double part_ = 0;  // part of a nanosecond beyond paid_until_
  double distance_ns_ = 0;
  Duration ahead_{};
  uint32_t burst_ = 1;
};

}  // namespace weir
