#include "throttle/limits/quota/open_holds.h"

#include <algorithm>

namespace weir {

void OpenHolds::Add(const ReservationToken& token, Hold hold) {
  const WallTime deadline = hold.deadline;
  holds_.emplace(token, std::move(hold));
  bound_.TakeAnyway(1);
  PushDue(token, deadline);
}

void OpenHolds::PushDue(const ReservationToken& token, WallTime deadline) {
  // Entries of settled reservations stay in the heap until they are due, or until they are most of the heap.
  static constexpr size_t kFewDue = 64;
  due_.push_back({deadline, token});
  std::ranges::push_heap(due_, Later);
  if (due_.size() > 2 * holds_.size() + kFewDue) Rebuild();
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
  Rebuild();
}

std::optional<OpenHolds::Item> OpenHolds::PopDue(WallTime now) {
  while (!due_.empty() && due_.front().deadline <= now) {
    std::ranges::pop_heap(due_, Later);
    const Due due = due_.back();
    due_.pop_back();
    const Hold* hold = Find(due.token);
    if (hold != nullptr && hold->deadline <= now) return Item(due.token, *Take(due.token));
  }
  return {};
}

void OpenHolds::Rebuild() {
  due_.clear();
  for (const auto& [token, hold] : holds_) due_.push_back({hold.deadline, token});
  std::ranges::make_heap(due_, Later);
}

}  // namespace weir
