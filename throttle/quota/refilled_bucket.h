// RefilledBucket: a limit of kind kBucket, exactly: it begins full, and its level is a whole number of parts, of which
// `per` (in ns) are one. Force takes it below zero; a clock that steps back fills nothing.
//
// Threads: one at a time.
#pragma once

#include "config/clock.h"
#include "throttle/quota/limit.h"

namespace weir {

class RefilledBucket {
 public:
  RefilledBucket(const Limit& limit, WallTime now);

  // Brings it to `now`; goes before every other call.
  void Advance(WallTime now);
  // From now on by this limit, which has the same `per`.
  void Follow(const Limit& limit);

  bool Holds(int64_t amount) const { return level_ >= amount * Parts(per_.count()); }
  Duration UntilHolds(int64_t amount) const;  // of what it does not hold: amount <= burst
  void Take(int64_t amount);
  void GiveBack(int64_t amount);

  int64_t lacks() const;  // to be full, rounded up
  // A new one would say the same.
  bool IsFull() const { return level_ == Full(); }

 private:
  using Parts = __int128;  // 1e15 for 366 days of ns are less than 2^105

  Parts Full() const { return burst_ * Parts(per_.count()); }

  Duration per_;
  int64_t amount_;
  int64_t burst_;
  WallTime now_;
  Parts level_;
};

}  // namespace weir
