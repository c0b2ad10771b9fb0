#include "throttle/quota/window_log.h"

#include <algorithm>

namespace weir {

void WindowLog::GiveBack(Ref ref, int64_t amount) {
  if (ref < head_ || ref >= tail_) return;
  Entry& entry = At(ref);
  const int64_t given = std::min(amount, entry.amount);
  entry.amount -= given;
  used_ -= given;
}

void WindowLog::Restore(std::vector<Entry> entries, WallTime now) {
  for (Entry& entry : entries) entry.time = std::clamp(entry.time, WallTime(), now);
  std::erase_if(entries, [&](const Entry& entry) { return entry.amount <= 0 || now - entry.time >= window_; });
  std::ranges::stable_sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) Add(entry.time, std::min(kMostAmount, entry.amount));
}

Duration WindowLog::UntilFits(WallTime now, int64_t amount, int64_t limit) const {
  int64_t too_much = used_ + amount - limit;
  for (Ref ref = head_; ref != tail_; ++ref) {
    too_much -= At(ref).amount;
    if (too_much <= 0) return At(ref).time + window_ - now;
  }
  return window_;
}

std::vector<WindowLog::Entry> WindowLog::Entries() const {
  std::vector<Entry> entries;
  for (Ref ref = head_; ref != tail_; ++ref)
    if (At(ref).amount > 0) entries.push_back(At(ref));
  return entries;
}

WindowLog::Ref WindowLog::AddToNewest(WallTime now, int64_t amount) {
  Entry& newest = At(tail_ - 1);
  const int64_t sum = AddAmounts(newest.amount, amount);
  used_ += sum - newest.amount;
  newest = {now, sum};
  return tail_ - 1;
}

void WindowLog::PullBack(WallTime now) {
  for (Ref ref = tail_; ref != head_ && At(ref - 1).time > now; --ref) At(ref - 1).time = now;
  newest_first_ = std::min(newest_first_, now);
}

void WindowLog::Grow() {
  const size_t capacity = std::max(kFirstCapacity, 2 * capacity_);
  auto ring = std::make_unique<Entry[]>(capacity);  // NOLINT(modernize-avoid-c-arrays)
  for (Ref ref = head_; ref != tail_; ++ref) ring[ref & (capacity - 1)] = At(ref);
  ring_ = std::move(ring);
  capacity_ = capacity;
}

void WindowLog::Release() {
  ring_.reset();
  capacity_ = 0;
}

}  // namespace weir
