#include "throttle/quota/open_holds.h"

#include <algorithm>

namespace weir {

void OpenHolds::Add(const ReservationToken& token, Hold hold) {
  // Those that were settled stay in the heap until they are due, or are the most of it.
  static constexpr size_t kFewDue = 64;
  due_.push_back({hold.deadline, token});
  std::ranges::push_heap(due_, Later);
  holds_.emplace(token, std::move(hold));
  if (due_.size() > 2 * holds_.size() + kFewDue) Rebuild();
}

std::optional<Hold> OpenHolds::TakeOpen(const ReservationToken& token, WallTime now) {
  const auto found = holds_.find(token);
  if (found == holds_.end() || found->second.deadline <= now) return {};
  return std::move(holds_.extract(found).mapped());
}

std::optional<Hold> OpenHolds::Take(const ReservationToken& token) {
  auto node = holds_.extract(token);
  if (node.empty()) return {};
  return std::move(node.mapped());
}

void OpenHolds::PullBack(WallTime now) {
  for (auto& [token, hold] : holds_) hold.deadline = std::min(hold.deadline, now + hold.hold_for);
  Rebuild();
}

std::optional<Hold> OpenHolds::PopDue(WallTime now) {
  while (!due_.empty() && due_.front().deadline <= now) {
    std::ranges::pop_heap(due_, Later);
    const ReservationToken token = due_.back().token;
    due_.pop_back();
    if (std::optional<Hold> hold = Take(token)) return hold;
  }
  return {};
}

void OpenHolds::Rebuild() {
  due_.clear();
  for (const auto& [token, hold] : holds_) due_.push_back({hold.deadline, token});
  std::ranges::make_heap(due_, Later);
}

}  // namespace weir
