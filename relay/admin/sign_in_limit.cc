#include "relay/admin/sign_in_limit.h"

#include <algorithm>

namespace weir {

std::optional<Duration> SignInLimit::Wait(uint64_t client) const {
  const MutexLock lock(mutex_);
  const auto known = good_again_.find(client);
  if (known == good_again_.end()) return std::nullopt;
  const Duration wait = known->second - clock_.Now() - (kAtOnce - 1) * kEvery;
  return wait > Duration::zero() ? std::optional(wait) : std::nullopt;
}

void SignInLimit::NoteWrong(uint64_t client) {
  const MutexLock lock(mutex_);
  const TimePoint now = clock_.Now();
  std::erase_if(good_again_, [now](const auto& entry) { return entry.second <= now; });
  if (good_again_.size() == kMostClients && !good_again_.contains(client))
    good_again_.erase(std::ranges::min_element(good_again_, {}, &std::pair<const uint64_t, TimePoint>::second));
  TimePoint& again = good_again_[client];
  again = std::max(again, now) + kEvery;
}

size_t SignInLimit::clients() const {
  const MutexLock lock(mutex_);
  return good_again_.size();
}

}  // namespace weir
