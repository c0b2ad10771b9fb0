#include "throttle/limits/quota/window_log.h"

#include <algorithm>
#include <bit>

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

void WindowLog::Unbind() {
  FreeRing& ring = ring_.get_deleter();
  if (ring.taken > 0) ring.room->GiveBack(ring.taken);
  ring = {};
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

bool WindowLog::Grow() {
  const size_t capacity = std::max(kFirstCapacity, 2 * capacity_);
  Bound* const room = ring_.get_deleter().room;
  const size_t taken = room != nullptr && capacity > kFreeEntries ? capacity * sizeof(Entry) : 0;
  if (taken > 0 && !room->Take(taken)) return false;
  Resize(capacity, taken);
  return true;
}

void WindowLog::Shrink() {
  const size_t size = tail_ - head_;
  const size_t capacity = size == 0 ? 0 : std::max(kFirstCapacity, std::bit_ceil(2 * size));
  const size_t taken = ring_.get_deleter().taken > 0 && capacity > kFreeEntries ? capacity * sizeof(Entry) : 0;
  if (taken > 0) ring_.get_deleter().room->TakeAnyway(taken);  // over the bound until Resize frees the larger ring
  Resize(capacity, taken);
}

void WindowLog::Resize(size_t capacity, size_t taken) {
  std::unique_ptr<Entry[], FreeRing> ring(capacity > 0 ? new Entry[capacity] : nullptr,  // NOLINT(*-avoid-c-arrays)
                                          {.room = ring_.get_deleter().room, .taken = taken});
  for (Ref ref = head_; ref != tail_; ++ref) ring[ref & (capacity - 1)] = At(ref);
  ring_ = std::move(ring);
  capacity_ = capacity;
}

}  // namespace weir
