#include "relay/account/byte_budget.h"

#include <utility>

namespace weir {

bool ByteBudget::Take(uint64_t group, uint64_t bytes, std::function<void()> granted) {
  const MutexLock lock(mutex_);
  if (!IsWaiting(group) && FitsShare(group, bytes) && Fits(bytes) && !SomebodyWaitsForTheWhole()) {
    TakeFor(group, bytes);
    return true;
  }
  Line& line = lines_.Find(group);
  line.waiting.push_back({bytes, std::move(granted)});
  ++waiting_;
  WaitOn(line);
  return false;
}

void ByteBudget::GiveBack(uint64_t bytes) {
  if (bytes == 0) return;
  Calls granted;
  {
    const MutexLock lock(mutex_);
    out_ -= bytes;
    granted = GrantWhatFits();
  }
  for (const std::function<void()>& tell : granted) tell();
}

void ByteBudget::Answered(uint64_t group, uint64_t bytes) {
  if (bytes == 0) return;
  Calls granted;
  {
    const MutexLock lock(mutex_);
    const auto found = out_of_.find(group);
    found->second -= bytes;
    if (found->second == 0) out_of_.erase(found);
    if (IsWaiting(group)) WaitOn(lines_.At(group));
    granted = GrantWhatFits();
  }
  for (const std::function<void()>& tell : granted) tell();
}

bool ByteBudget::IsWaiting(uint64_t group) const {
  const Line* const line = lines_.Known(group);
  return line != nullptr && !line->waiting.empty();
}

bool ByteBudget::FitsShare(uint64_t group, uint64_t bytes) const {
  const auto found = out_of_.find(group);
  return found == out_of_.end() || found->second + bytes <= bytes_ / kShares;
}

void ByteBudget::TakeFor(uint64_t group, uint64_t bytes) {
  if (bytes > 0) out_of_[group] += bytes;
  out_ += bytes;
}

void ByteBudget::WaitOn(Line& line) {
  const uint64_t bytes = line.waiting.front().bytes;
  lines_.turns().Wait(line, bytes, FitsShare(line.key, bytes) ? FairTurns::Sort::kFirst : FairTurns::Sort::kSecond);
}

ByteBudget::Calls ByteBudget::GrantWhatFits() {
  Calls granted;
  while (SomebodyWaitsForTheWhole()) {
    Line& line = lines_.Next(false);
    Waiting& first = line.waiting.front();
    const uint64_t bytes = first.bytes;
    if (!Fits(bytes)) break;
    TakeFor(line.key, bytes);
    granted.push_back(std::move(first.granted));
    line.waiting.pop_front();
    --waiting_;
    lines_.turns().Begin(line, bytes);
    if (!line.waiting.empty()) WaitOn(line);
    lines_.End(line, bytes, bytes);
  }
  return granted;
}

void ByteBudget::ForgetWaiting() {
  FairLines<Line> forgotten;  // destroyed without the lock, because objects that the callbacks own may call GiveBack
  const MutexLock lock(mutex_);
  std::swap(forgotten, lines_);
  waiting_ = 0;
}

uint64_t ByteBudget::out() const {
  const MutexLock lock(mutex_);
  return out_;
}

uint64_t ByteBudget::out_of(uint64_t group) const {
  const MutexLock lock(mutex_);
  const auto found = out_of_.find(group);
  return found == out_of_.end() ? 0 : found->second;
}

size_t ByteBudget::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
}

}  // namespace weir
