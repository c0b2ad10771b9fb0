#include "throttle/limits/quota/naming_shares.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr Duration kHour = std::chrono::hours(1);
constexpr size_t kMostParties = 1024;  // further parties count as one
constexpr uint64_t kShare = 10;
constexpr uint64_t kAlwaysFree = 100;

}  // namespace

bool NamingShares::MayName(const std::string& party, TimePoint now) {
  const MutexLock lock(mutex_);
  Turn(now);
  // A party that has caused no name gets no count, so that parties that cause none do not use up the counts.
  if (parties_.size() < kMostParties && !parties_.contains(party)) return true;
  Count& count = Of(party);
  if (count.all() <= std::max(kAlwaysFree, names_ / kShare)) return true;
  if (!std::exchange(count.warned, true)) {
    warnings_.push_back(party + " began " + std::to_string(count.all()) + " of the " + std::to_string(names_) +
                        " names (users, unknown models) of the last hours, and the store has room for few more: new "
                        "names from there are refused (too_many_names) until others have gone");
  }
  return false;
}

void NamingShares::Learn(const std::string& party, uint32_t new_names, bool nearly_full, TimePoint now) {
  nearly_full_.store(nearly_full, std::memory_order_relaxed);
  if (new_names == 0) return;
  const MutexLock lock(mutex_);
  Turn(now);
  Of(party).now += new_names;
  names_ += new_names;
}

std::vector<std::string> NamingShares::TakeWarnings() {
  const MutexLock lock(mutex_);
  return std::exchange(warnings_, {});
}

void NamingShares::Turn(TimePoint now) {
  if (now - hour_began_ < kHour) return;
  const bool long_ago = now - hour_began_ >= 2 * kHour;
  hour_began_ = now;
  names_ = 0;
  for (auto at = parties_.begin(); at != parties_.end();) {
    Count& count = at->second;
    count = {.before = long_ago ? 0 : count.now};
    names_ += count.before;
    at = count.before == 0 ? parties_.erase(at) : std::next(at);
  }
}

NamingShares::Count& NamingShares::Of(const std::string& party) {
  const auto found = parties_.find(party);
  if (found != parties_.end()) return found->second;
  return parties_[parties_.size() < kMostParties ? party : "the others"];
}

}  // namespace weir
