// RefilledBucket: an exact limit of kind kBucket. It keeps its debt, what it lacks to be full, as a whole number of
// parts; `per` (in ns) parts are one unit. So it begins full, and another burst takes nothing from it. Forced use takes
// it below zero: the debt is then above the burst. A clock that steps back pays nothing.
//
// Threads: one at a time.
#pragma once

#include "config/clock.h"
#include "throttle/quota/limit.h"

namespace weir {

class RefilledBucket {
 public:
  using Parts = __int128;  // 2e15 for 366 days of ns are less than 2^106

  RefilledBucket(const Limit& limit, WallTime now);
  // A bucket that had this debt at `then`.
  RefilledBucket(const Limit& limit, WallTime then, Parts debt);

  // Brings it to `now`; call it before every other function.
  void Advance(WallTime now);
  // Uses this limit from now on; it has the same `per`.
  void Follow(const Limit& limit);

  bool Holds(int64_t amount) const { return debt_ + amount * Parts(per_.count()) <= Full(); }
  Duration UntilHolds(int64_t amount) const;  // for an amount that it does not hold: amount <= burst
  void Take(int64_t amount);
  // Gives back a part of `reserved`, which was taken `since` ago; the refill since may have paid for it.
  void GiveBack(int64_t amount, int64_t reserved, Duration since);

  Duration UntilFull() const { return UntilHolds(burst_); }
  Parts debt() const { return debt_; }
  WallTime now() const { return now_; }
  int64_t rate() const { return amount_; }
  int64_t lacks() const;  // amount missing to be full, rounded up
  // True if a new bucket would say the same.
  bool IsFull() const { return debt_ == 0; }

 private:
  Parts Full() const { return burst_ * Parts(per_.count()); }

  Duration per_;
  int64_t amount_ = 0;
  int64_t burst_ = 0;
  WallTime now_;
  Parts debt_ = 0;
};

}  // namespace weir
