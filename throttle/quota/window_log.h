// WindowLog: the use of the last `window`, entry by entry, with a running sum.
//
// Up to kExactEntries each entry is kept as it came. Beyond, an amount that comes within Granule(window) of the first
// part of the newest entry is added to it, which then counts from its last part: such a log refuses longer, never less.
// It never holds more than kMostEntries.
//
// Logs that share a `room` keep to its bytes, except for the kFreeEntries that each may have. While the room is too
// small for another full log, a log keeps half of those exactly, and beyond them uses an equally large part of the
// window (a sixteenth) as its granule: it refuses longer then, never less. Room is given back as entries leave.
//
// If the clock steps back, entries of the future count as of now.
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/quota/quota_store.h"

namespace weir {

class WindowLog {
 public:
  using Entry = ModelState::Entry;
  // The entry that received an amount; valid for ever, even after the entry has left.
  using Ref = uint64_t;

  static constexpr size_t kExactEntries = 4096;
  static constexpr size_t kMostEntries = 2 * kExactEntries;  // a full log of kMostAmount each still fits into 64 bits
  static constexpr Duration Granule(Duration window) { return window / 1024; }
  static constexpr size_t kFreeEntries = 32;
  static constexpr size_t kMostBytes = kMostEntries * sizeof(Entry);
  // Returns true if an amount is added to the newest of so many entries, whose first part came `since` ago. `is_short`:
  // there is little room for entries.
  static constexpr bool Merges(size_t entries, Duration since, Duration window, bool is_short) {
    if (entries >= kExactEntries && (since < Granule(window) || entries >= kMostEntries)) return true;
    constexpr size_t kExact = kFreeEntries / 2;
    return is_short && entries >= kExact && since < window / kExact;
  }

  // `room` outlives it; null: there is no bound.
  explicit WindowLog(Duration window, Bound* room = nullptr) : window_(window), ring_(nullptr, {room}) {}

  // Brings it to `now`; call it before every other function, with the same time.
  void Advance(WallTime now) {
    while (head_ != tail_ && now - At(head_).time >= window_) used_ -= At(head_++).amount;
    if (tail_ - head_ <= capacity_ / 8 && capacity_ > kFirstCapacity) Shrink();
    if (head_ != tail_ && At(tail_ - 1).time > now) PullBack(now);
  }

  // amount: 1..kMostAmount.
  Ref Add(WallTime now, int64_t amount) {
    const size_t size = tail_ - head_;
    if (size >= kFreeEntries / 2 && Merges(size, now - newest_first_, window_, IsShort()))
      return AddToNewest(now, amount);
    if (size == capacity_ && !Grow()) return AddToNewest(now, amount);
    At(tail_) = {now, amount};
    newest_first_ = now;
    used_ += amount;
    return tail_++;
  }
  // Takes back a part of what was added, if it still counts.
  void GiveBack(Ref ref, int64_t amount);
  // Fills an empty log with the saved entries that still count. The others would only take room, and be merged with
  // these.
  void Restore(std::vector<Entry> entries, WallTime now);

  int64_t used() const { return used_; }
  // Time until `amount` more are at most `limit`, if nothing else came: amount <= limit < used() + amount. Walks along
  // the entries that must leave.
  Duration UntilFits(WallTime now, int64_t amount, int64_t limit) const;
  // Entries that count, in the order of time.
  std::vector<Entry> Entries() const;

 private:
  static constexpr size_t kFirstCapacity = 4;

  // Frees a ring and gives back the room that it took.
  struct FreeRing {
    Bound* room = nullptr;
    size_t taken = 0;
    void operator()(const Entry* ring) const {
      delete[] ring;
      if (taken > 0) room->GiveBack(taken);
    }
  };

  bool IsShort() const {
    const Bound* const room = ring_.get_deleter().room;
    return room != nullptr && !room->HasRoom(kMostBytes);
  }
  Entry& At(Ref ref) { return ring_[ref & (capacity_ - 1)]; }
  const Entry& At(Ref ref) const { return ring_[ref & (capacity_ - 1)]; }
  Ref AddToNewest(WallTime now, int64_t amount);
  void PullBack(WallTime now);
  bool Grow();  // returns false if there is no room
  void Shrink();
  void Resize(size_t capacity, size_t taken);

  Duration window_;
  std::unique_ptr<Entry[], FreeRing> ring_;  // NOLINT(modernize-avoid-c-arrays): of a size known at run time
  size_t capacity_ = 0;                      // a power of two
  Ref head_ = 0;                             // the oldest
  Ref tail_ = 0;                             // behind the newest
  int64_t used_ = 0;
  WallTime newest_first_{};  // time of the newest entry's first part
};

}  // namespace weir
