// WindowLog: what was used in the last `window`, entry by entry, with a running sum.
//
// Up to kExactEntries each entry is kept as it came. Beyond, what comes within Granule(window) of the first part of the
// newest entry is added to it, which then counts from its last part: such a log refuses longer, never less. At most
// kMostEntries are held, whatever comes.
//
// The clock may step back: entries of the future then count as of now.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/clock.h"
#include "throttle/quota/quota_store.h"

namespace weir {

class WindowLog {
 public:
  using Entry = ModelState::Entry;
  // The entry that an amount went into; good for ever, also when the entry has long left.
  using Ref = uint64_t;

  static constexpr size_t kExactEntries = 4096;
  static constexpr size_t kMostEntries = 2 * kExactEntries;  // a full one of kMostAmount each still fits into 64 bits
  static constexpr Duration Granule(Duration window) { return window / 1024; }

  explicit WindowLog(Duration window) : window_(window) {}

  // Brings it to `now`; goes before every other call, with the time that they are given.
  void Advance(WallTime now) {
    while (head_ != tail_ && now - At(head_).time >= window_) used_ -= At(head_++).amount;
    if (head_ == tail_) {
      if (capacity_ > kFirstCapacity) Release();
    } else if (At(tail_ - 1).time > now) {
      PullBack(now);
    }
  }

  // amount: 1..kMostAmount.
  Ref Add(WallTime now, int64_t amount) {
    const size_t size = tail_ - head_;
    if (size >= kExactEntries && (now - newest_first_ < Granule(window_) || size == kMostEntries))
      return AddToNewest(now, amount);
    if (size == capacity_) Grow();
    At(tail_) = {now, amount};
    newest_first_ = now;
    used_ += amount;
    return tail_++;
  }
  // As if so much had not been added, where it still counts.
  void GiveBack(Ref ref, int64_t amount);
  // Into an empty one: what was saved, as far as it still counts. The rest would only crowd it, and be merged with
  // that.
  void Restore(std::vector<Entry> entries, WallTime now);

  int64_t used() const { return used_; }
  // Until `amount` more are at most `limit`, if nothing else came: amount <= limit < used() + amount. Walks along the
  // entries that must leave.
  Duration UntilFits(WallTime now, int64_t amount, int64_t limit) const;
  // Those that count, in the order of time.
  std::vector<Entry> Entries() const;

 private:
  static constexpr size_t kFirstCapacity = 4;

  Entry& At(Ref ref) { return ring_[ref & (capacity_ - 1)]; }
  const Entry& At(Ref ref) const { return ring_[ref & (capacity_ - 1)]; }
  Ref AddToNewest(WallTime now, int64_t amount);
  void PullBack(WallTime now);
  void Grow();
  void Release();

  Duration window_;
  std::unique_ptr<Entry[]> ring_;  // NOLINT(modernize-avoid-c-arrays): a ring of a size known at run time
  size_t capacity_ = 0;            // a power of two
  Ref head_ = 0;                   // the oldest
  Ref tail_ = 0;                   // behind the newest
  int64_t used_ = 0;
  WallTime newest_first_{};  // of the parts of the newest
};

}  // namespace weir
