// RefilledBucket: the counter of a limit of the kind kBucket (limit.h). It keeps its debt, which is the amount that is
// missing until the bucket is full. The debt is exact, because it is stored as a whole number of parts; a unit of the
// amount has as many parts as Limit::per has nanoseconds. A new bucket has no debt, and a change of the burst does not
// change the debt. Forced use may make the debt larger than the burst; the bucket is then below zero. If the clock
// steps back, no debt is paid off.
//
// Not thread-safe.
#pragma once

#include "config/clock.h"
#include "throttle/limits/quota/limit.h"

namespace weir {

class RefilledBucket {
 public:
  using Parts = __int128;  // 2e15 units of 366 days (in ns) are less than 2^106

  // Makes a full bucket.
  RefilledBucket(const Limit& limit, WallTime now);
  // Makes a bucket that had this debt at `then`.
  RefilledBucket(const Limit& limit, WallTime then, Parts debt);

  // Advances the bucket to `now`: the time that has passed pays off debt. The caller must call it before every other
  // function.
  void Advance(WallTime now);
  // Uses the amount and the burst of `limit` from now on. REQUIRES: limit.per is that of the former limit.
  void Follow(const Limit& limit);

  // Returns true if the caller can take `amount` without taking the bucket below zero.
  bool Holds(int64_t amount) const { return debt_ + amount * Parts(per_.count()) <= Full(); }
  // Returns the time until Holds(amount) is true. REQUIRES: Holds(amount) is false, and `amount` is at most the burst.
  Duration UntilHolds(int64_t amount) const;
  // Takes `amount`, even if this takes the bucket below zero. The debt never exceeds kMostAmount units.
  void Take(int64_t amount);
  // Puts back `amount` of the `reserved` units that were taken `since` ago, but at most the part of `reserved` that the
  // refill has not paid off since then.
  void GiveBack(int64_t amount, int64_t reserved, Duration since);

  Duration UntilFull() const { return UntilHolds(burst_); }
  Parts debt() const { return debt_; }
  WallTime now() const { return now_; }
  int64_t rate() const { return amount_; }  // units gained in every `per`
  int64_t lacks() const;                    // units that are missing until it is full, rounded up
  // Returns true if the bucket has no debt, like a new bucket.
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
