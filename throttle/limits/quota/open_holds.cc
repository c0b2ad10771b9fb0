#include "throttle/limits/quota/open_holds.h"

#include <algorithm>

namespace weir {
namespace {

WallTime DeadlineOf(const Hold& hold) { return hold.deadline; }

}  // namespace

void OpenHolds::Add(const ReservationToken& token, Hold hold) {
  const WallTime deadline = hold.deadline;
  holds_.emplace(token, std::move(hold));
  bound_.TakeAnyway(1);
  PushDue(token, deadline);
}

void OpenHolds::PushDue(const ReservationToken& token, WallTime deadline) {
  due_.Push({deadline, token});
  due_.DropStale(holds_, &DeadlineOf);
}

const Hold* OpenHolds::Find(const ReservationToken& token) const {
  const auto found = holds_.find(token);
  return found == holds_.end() ? nullptr : &found->second;
}

std::optional<Hold> OpenHolds::Take(const ReservationToken& token) {
  auto node = holds_.extract(token);
  if (node.empty()) return {};
  bound_.GiveBack(1);
  return std::move(node.mapped());
}

// Also increases hold_for, so that Hold::made() does not change.
void OpenHolds::Extend(const ReservationToken& token, WallTime deadline) {
  Hold& hold = holds_.at(token);
  hold.hold_for += deadline - hold.deadline;
  hold.deadline = deadline;
  PushDue(token, deadline);
}

void OpenHolds::PullBack(WallTime now) {
  for (auto& [token, hold] : holds_) hold.deadline = std::min(hold.deadline, now + hold.hold_for);
  due_.Rebuild(holds_, &DeadlineOf);
}

std::optional<OpenHolds::Item> OpenHolds::PopDue(WallTime now) {
  while (!due_.empty() && due_.front().time <= now) {
    const DueHeap::Due due = due_.Pop();
    const Hold* hold = Find(due.token);
    if (hold != nullptr && hold->deadline <= now) return Item(due.token, *Take(due.token));
  }
  return {};
}

}  // namespace weir
