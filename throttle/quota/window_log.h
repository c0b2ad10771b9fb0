// WindowLog: the counter of a window. It keeps what was used in the last `window`, entry by entry, with a running sum.
//
// Up to kExactEntries entries are kept as they came. In a longer log an amount that comes within Granule(window) of the
// beginning of the newest entry is added to that entry, and the entry gets the time of that amount. Such a log refuses
// longer than an exact one, and never allows more. A log has at most kMostEntries entries.
//
// Logs can share a bound of bytes (`room`) for their entries; kFreeEntries entries of each log are exempt from it.
// While there is not enough room for another full log, a log keeps only kFreeEntries / 2 entries exactly. Beyond these
// its granule is a sixteenth of the window. It refuses longer then, and never allows more. A log frees room as entries
// leave.
//
// If the clock steps back, entries from the future count as of now.
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
  // The number of the entry that received an amount. No other entry ever gets the same number, even after the entry has
  // left.
  using Ref = uint64_t;

  static constexpr size_t kExactEntries = 4096;
  // The sum of a full log, with kMostAmount in each entry, still fits into 64 bits.
  static constexpr size_t kMostEntries = 2 * kExactEntries;
  static constexpr Duration Granule(Duration window) { return window / 1024; }
  static constexpr size_t kFreeEntries = 32;
  static constexpr size_t kMostBytes = kMostEntries * sizeof(Entry);
  // Returns true if the next amount is added to the newest entry instead of making another. The log has `entries`
  // entries, and the newest of them began `since` ago. `is_short`: there is little room for entries.
  static constexpr bool Merges(size_t entries, Duration since, Duration window, bool is_short) {
    if (entries >= kExactEntries && (since < Granule(window) || entries >= kMostEntries)) return true;
    constexpr size_t kExact = kFreeEntries / 2;
    return is_short && entries >= kExact && since < window / kExact;
  }

  // `room` must outlive the log; null: no bound.
  explicit WindowLog(Duration window, Bound* room = nullptr) : window_(window), ring_(nullptr, {room}) {}

  // Brings the log to `now`: entries that have left the window are removed. Call it before every other function, with
  // the same time.
  void Advance(WallTime now) {
    while (head_ != tail_ && now - At(head_).time >= window_) used_ -= At(head_++).amount;
    if (tail_ - head_ <= capacity_ / 8 && capacity_ > kFirstCapacity) Shrink();
    if (head_ != tail_ && At(tail_ - 1).time > now) PullBack(now);
  }

  // Adds `amount`, which must be 1..kMostAmount. Returns the entry, for GiveBack.
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
  // Takes `amount` back from an entry, as far as the entry still counts and has that much.
  void GiveBack(Ref ref, int64_t amount);
  // Fills an empty log with those of the saved entries that still count. The others would only take room, and make the
  // log merge entries.
  void Restore(std::vector<Entry> entries, WallTime now);

  // Returns the amount that counts.
  int64_t used() const { return used_; }
  // Returns the time until `amount` more is within `limit` if nothing else comes. Requires amount <= limit < used() +
  // amount. Walks along the entries that must leave.
  Duration UntilFits(WallTime now, int64_t amount, int64_t limit) const;
  // Returns the entries that count, in the order of time.
  std::vector<Entry> Entries() const;

 private:
  static constexpr size_t kFirstCapacity = 4;

  // Frees a ring, and gives its bytes back to the common bound.
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
  size_t capacity_ = 0;                      // 0 or a power of two
  Ref head_ = 0;                             // number of the oldest entry
  Ref tail_ = 0;                             // number after that of the newest entry
  int64_t used_ = 0;
  WallTime newest_first_{};  // when the newest entry began
};

}  // namespace weir
