#include "throttle/limits/quota/refilled_bucket.h"

#include <algorithm>

#include "throttle/limits/quota/quota.h"

namespace weir {

RefilledBucket::RefilledBucket(const Limit& limit, WallTime now) : per_(limit.per), now_(now) { Follow(limit); }

RefilledBucket::RefilledBucket(const Limit& limit, WallTime then, Parts debt) : RefilledBucket(limit, then) {
  debt_ = std::clamp<Parts>(debt, 0, kMostAmount * Parts(per_.count()));
}

void RefilledBucket::Advance(WallTime now) {
  const Duration passed = now - now_;
  now_ = now;
  if (passed > Duration::zero()) debt_ = std::max<Parts>(0, debt_ - passed.count() * Parts(amount_));
}

void RefilledBucket::Follow(const Limit& limit) {
  amount_ = std::clamp<int64_t>(limit.amount, 1, kMostAmount);
  burst_ = std::clamp(limit.burst, amount_, kMostAmount);
}

Duration RefilledBucket::UntilHolds(int64_t amount) const {
  const Parts missing = debt_ + amount * Parts(per_.count()) - Full();
  const Parts time = (missing + amount_ - 1) / amount_;
  return Duration(static_cast<int64_t>(std::min<Parts>(time, Duration::max().count())));
}

void RefilledBucket::Take(int64_t amount) {
  debt_ = std::min(debt_ + amount * Parts(per_.count()), kMostAmount * Parts(per_.count()));
}

void RefilledBucket::GiveBack(int64_t amount, int64_t reserved, Duration since) {
  const Parts paid = std::max<int64_t>(0, since.count()) * Parts(amount_) / per_.count();
  const Parts given = std::clamp<Parts>(reserved - paid, 0, amount);
  debt_ = std::max<Parts>(0, debt_ - given * per_.count());
}

int64_t RefilledBucket::lacks() const {
  const Parts per = per_.count();
  return static_cast<int64_t>((debt_ + per - 1) / per);
}

}  // namespace weir
