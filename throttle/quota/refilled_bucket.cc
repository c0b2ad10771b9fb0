#include "throttle/quota/refilled_bucket.h"

#include <algorithm>

#include "throttle/quota/quota.h"

namespace weir {

RefilledBucket::RefilledBucket(const Limit& limit, WallTime now)
    : per_(limit.per), amount_(0), burst_(0), now_(now), level_(0) {
  Follow(limit);
  level_ = Full();
}

void RefilledBucket::Advance(WallTime now) {
  const Duration passed = now - now_;
  now_ = now;
  if (passed > Duration::zero()) level_ = std::min(Full(), level_ + passed.count() * Parts(amount_));
}

void RefilledBucket::Follow(const Limit& limit) {
  if (limit.amount == amount_ && limit.burst == burst_) return;
  amount_ = std::clamp<int64_t>(limit.amount, 1, kMostAmount);
  burst_ = std::clamp(limit.burst, amount_, kMostAmount);
  level_ = std::min(level_, Full());
}

Duration RefilledBucket::UntilHolds(int64_t amount) const {
  const Parts missing = amount * Parts(per_.count()) - level_;
  const Parts time = (missing + amount_ - 1) / amount_;
  return Duration(static_cast<int64_t>(std::min<Parts>(time, Duration::max().count())));
}

void RefilledBucket::Take(int64_t amount) {
  level_ = std::max(level_ - amount * Parts(per_.count()), -kMostAmount * Parts(per_.count()));
}

void RefilledBucket::GiveBack(int64_t amount) { level_ = std::min(Full(), level_ + amount * Parts(per_.count())); }

int64_t RefilledBucket::lacks() const {
  const Parts per = per_.count();
  return static_cast<int64_t>(std::min<Parts>(kMostAmount, (Full() - level_ + per - 1) / per));
}

}  // namespace weir
