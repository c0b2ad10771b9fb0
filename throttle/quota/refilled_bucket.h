// RefilledBucket: the counter of a limit of the kind kBucket (limit.h). It keeps its debt, which is what it lacks to be
// full, exactly: as a whole number of parts, one unit being `per` (in ns) parts. A new bucket has no debt, and a change
// of the burst leaves the debt as it is. Forced use may take the bucket below zero; then the debt is larger than the
// burst. If the clock steps back, no debt is paid off.
//
// Threads: one at a time.
#pragma once

#include "config/clock.h"
#include "throttle/quota/limit.h"

namespace weir {

class RefilledBucket {
 public:
  using Parts = __int128;  // 2e15 units of 366 days (in ns) are less than 2^106

  // Makes a full bucket.
  RefilledBucket(const Limit& limit, WallTime now);
  // Makes a bucket that had this debt at `then`.
  RefilledBucket(const Limit& limit, WallTime then, Parts debt);

  // Brings the bucket to `now`, paying off debt for the time that has passed. Call it before every other function.
  void Advance(WallTime now);
  // Uses the amount and the burst of `limit` from now on; its `per` must be the same.
  void Follow(const Limit& limit);

  // Returns true if `amount` can be taken without going below zero.
  bool Holds(int64_t amount) const { return debt_ + amount * Parts(per_.count()) <= Full(); }
  // Returns the time until Holds(amount). Only for an amount that the bucket does not hold now and that is at most the
  // burst.
  Duration UntilHolds(int64_t amount) const;
  // Takes `amount`, even below zero. The debt stays at most kMostAmount units.
  void Take(int64_t amount);
  // Gives the bucket back `amount` of the `reserved` taken `since` ago, except what the refill has paid off by now.
  void GiveBack(int64_t amount, int64_t reserved, Duration since);

  Duration UntilFull() const { return UntilHolds(burst_); }
  Parts debt() const { return debt_; }
  WallTime now() const { return now_; }
  int64_t rate() const { return amount_; }  // units gained in every `per`
  int64_t lacks() const;                    // units missing to be full, rounded up
  // Returns true if it is like a new bucket.
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
