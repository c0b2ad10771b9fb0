#include "relay/account/byte_budget.h"

#include <algorithm>
#include <utility>

namespace weir {

bool ByteBudget::Take(uint64_t group, uint64_t bytes, std::function<void()> granted) {
  const std::lock_guard lock(mutex_);
  Group& own = groups_[group];
  if (own.waiting.empty() && FitsShare(own, bytes) && Fits(bytes) && !SomebodyWaitsForTheWhole()) {
    TakeFor(own, bytes);
    return true;
  }
  if (own.waiting.empty()) turns_.push_back(group);
  own.waiting.push_back({bytes, std::move(granted)});
  return false;
}

void ByteBudget::GiveBack(uint64_t bytes) {
  if (bytes == 0) return;
  Calls granted;
  {
    const std::lock_guard lock(mutex_);
    out_ -= bytes;
    granted = GrantWhatFits();
  }
  for (const std::function<void()>& tell : granted) tell();
}

void ByteBudget::Answered(uint64_t group, uint64_t bytes) {
  if (bytes == 0) return;
  Calls granted;
  {
    const std::lock_guard lock(mutex_);
    groups_[group].out -= bytes;
    DropIfEmpty(group);
    granted = GrantWhatFits();
  }
  for (const std::function<void()>& tell : granted) tell();
}

// Few wait for their own quarter: those alone are looked at here.
bool ByteBudget::SomebodyWaitsForTheWhole() const {
  return std::any_of(turns_.begin(), turns_.end(), [this](uint64_t turn) {
    const Group& group = groups_.at(turn);
    return FitsShare(group, group.waiting.front().bytes);
  });
}

void ByteBudget::TakeFor(Group& group, uint64_t bytes) {
  out_ += bytes;
  group.out += bytes;
}

ByteBudget::Calls ByteBudget::GrantWhatFits() {
  Calls granted;
  for (size_t passed = 0; passed < turns_.size();) {
    const uint64_t turn = turns_.front();
    Group& group = groups_.at(turn);
    const uint64_t bytes = group.waiting.front().bytes;
    const bool share = FitsShare(group, bytes);
    if (share && !Fits(bytes)) break;
    turns_.pop_front();
    if (share) {
      TakeFor(group, bytes);
      granted.push_back(std::move(group.waiting.front().granted));
      group.waiting.pop_front();
    }
    passed = share ? 0 : passed + 1;
    if (!group.waiting.empty()) turns_.push_back(turn);
  }
  return granted;
}

void ByteBudget::DropIfEmpty(uint64_t group) {
  const auto found = groups_.find(group);
  if (found->second.out == 0 && found->second.waiting.empty()) groups_.erase(found);
}

void ByteBudget::ForgetWaiting() {
  std::unordered_map<uint64_t, Group> forgotten;  // what they own may give back
  const std::lock_guard lock(mutex_);
  turns_.clear();
  for (auto& [key, group] : groups_) forgotten[key].waiting.swap(group.waiting);
}

uint64_t ByteBudget::out() const {
  const std::lock_guard lock(mutex_);
  return out_;
}

uint64_t ByteBudget::out_of(uint64_t group) const {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(group);
  return found == groups_.end() ? 0 : found->second.out;
}

size_t ByteBudget::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const uint64_t turn : turns_) sum += groups_.at(turn).waiting.size();
  return sum;
}

}  // namespace weir
