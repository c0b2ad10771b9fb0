#include "relay/account/byte_budget.h"

#include <exception>
#include <utility>

namespace weir {

bool ByteBudget::Take(uint64_t group, uint64_t bytes, std::function<void()> granted) {
  std::list<Waiting> request;  // destroyed without the lock if memory runs out
  const MutexLock lock(mutex_);
  if (!IsWaiting(group) && FitsShare(group, bytes) && Fits(bytes) && !SomebodyWaitsForTheWhole()) {
    TakeFor(group, bytes);
    return true;
  }
  request.push_back({bytes, std::move(granted)});
  Line& line = lines_.Find(group);
  out_of_.try_emplace(group);
  line.waiting.splice(line.waiting.end(), request);
  ++waiting_;
  WaitOn(line);
  return false;
}

void ByteBudget::GiveBack(uint64_t bytes) {
  if (bytes == 0) return;
  std::list<Waiting> granted;
  {
    const MutexLock lock(mutex_);
    out_ -= bytes;
    GrantWhatFits();
    granted.swap(granted_);
  }
  Tell(std::move(granted));
}

void ByteBudget::Answered(uint64_t group, uint64_t bytes) {
  if (bytes == 0) return;
  std::list<Waiting> granted;
  {
    const MutexLock lock(mutex_);
    out_of_.find(group)->second -= bytes;
    ForgetIfDone(group);
    if (IsWaiting(group)) WaitOn(lines_.At(group));
    GrantWhatFits();
    granted.swap(granted_);
  }
  Tell(std::move(granted));
}

void ByteBudget::TellGranted() {
  std::list<Waiting> granted;
  {
    const MutexLock lock(mutex_);
    granted.swap(granted_);
  }
  Tell(std::move(granted));
}

void ByteBudget::Tell(std::list<Waiting> granted) {
  for (auto next = granted.begin(); next != granted.end();) {
    try {
      next->granted();
      next = granted.erase(next);
    } catch (const std::exception&) {
      ++next;
    }
  }
  if (granted.empty()) return;
  const MutexLock lock(mutex_);
  granted_.splice(granted_.begin(), granted);
}

bool ByteBudget::IsWaiting(uint64_t group) const {
  const Line* const line = lines_.Known(group);
  return line != nullptr && !line->waiting.empty();
}

bool ByteBudget::FitsShare(uint64_t group, uint64_t bytes) const {
  const auto found = out_of_.find(group);
  const uint64_t out = found == out_of_.end() ? 0 : found->second;
  return out == 0 || out + bytes <= bytes_ / kShares;
}

void ByteBudget::TakeFor(uint64_t group, uint64_t bytes) {
  if (bytes > 0) out_of_[group] += bytes;
  out_ += bytes;
}

void ByteBudget::WaitOn(Line& line) {
  const uint64_t bytes = line.waiting.front().bytes;
  lines_.turns().Wait(line, bytes, FitsShare(line.key, bytes) ? FairTurns::Sort::kFirst : FairTurns::Sort::kSecond);
}

void ByteBudget::GrantWhatFits() {
  while (SomebodyWaitsForTheWhole()) {
    Line& line = lines_.Next(false);
    const uint64_t group = line.key;
    const uint64_t bytes = line.waiting.front().bytes;
    if (!Fits(bytes)) break;
    TakeFor(group, bytes);
    granted_.splice(granted_.end(), line.waiting, line.waiting.begin());
    --waiting_;
    lines_.turns().Begin(line, bytes);
    if (!line.waiting.empty()) WaitOn(line);
    lines_.End(line, bytes, bytes);
    ForgetIfDone(group);
  }
}

void ByteBudget::ForgetIfDone(uint64_t group) {
  const auto found = out_of_.find(group);
  if (found->second == 0 && !IsWaiting(group)) out_of_.erase(found);
}

void ByteBudget::ForgetWaiting() {
  // Destroyed without the lock, because objects that the callbacks own may call GiveBack.
  FairLines<Line> forgotten;
  std::list<Waiting> untold;
  const MutexLock lock(mutex_);
  std::swap(forgotten, lines_);
  untold.swap(granted_);
  waiting_ = 0;
  std::erase_if(out_of_, [](const auto& entry) { return entry.second == 0; });
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
