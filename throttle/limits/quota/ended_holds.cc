#include "throttle/limits/quota/ended_holds.h"

#include <algorithm>
#include <utility>

namespace weir {

bool HoldEnd::AnswerTo(const Settlement& settlement, SettlementAnswer* answer) const {
  using enum SettlementAnswer::Code;
  const bool refunds = !settlement.tokens;
  const int64_t used = std::clamp<int64_t>(settlement.tokens.value_or(0), 0, kMostAmount);
  if (how == How::kExpired) {
    answer->code = settlement.extend ? kExpired : kSettled;
    if (settlement.extend) return false;
    answer->late = true;
    answer->refunded = refunds;
    answer->actual_tokens = used;
    return true;
  }
  answer->late = late;
  answer->refunded = how == How::kRefunded;
  answer->actual_tokens = tokens;
  answer->again = !settlement.extend && answer->refunded == refunds && (refunds || tokens == used);
  answer->code = answer->again ? kSettled : kSettledOtherwise;
  return false;
}

void EndedHolds::Add(const ReservationToken& token, Ended ended) {
  due_.Push({ended.kept_until, token});
  if (ended_.insert_or_assign(token, std::move(ended)).second) bound_.Take(ended_.size() == 1);
  // A reservation may be made and refunded again and again with one idempotency key.
  due_.DropStale(ended_, [](const Ended& end) { return end.kept_until; });
}

EndedHolds::Ended* EndedHolds::Find(const ReservationToken& token, WallTime now) {
  const auto found = ended_.find(token);
  return found == ended_.end() || found->second.kept_until <= now ? nullptr : &found->second;
}

std::optional<EndedHolds::Ended> EndedHolds::TakeForgotten(WallTime now) {
  while (!due_.empty() && (due_.front().time <= now || ended_.size() > most_ || bound_.IsTooMany(ended_.size()))) {
    const DueHeap::Due due = due_.Pop();
    const auto found = ended_.find(due.token);
    if (found == ended_.end() || found->second.kept_until != due.time) continue;
    Ended ended = std::move(found->second);
    ended_.erase(found);
    bound_.GiveBack(1, ended_.empty());
    return ended;
  }
  return {};
}

}  // namespace weir
