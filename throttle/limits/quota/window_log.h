// WindowLog: the counter of a window. It keeps each amount that was used in the last `window` as an entry, and the sum
// of these amounts.
//
// A log with fewer than kExactEntries entries keeps each amount as an entry of its own, unless it has too little room
// (see below). In a longer log, an amount is added to the newest entry if it comes less than Granule(window) after that
// entry was begun; the entry then gets the time of that amount. Such a log refuses for longer than an exact log, and
// never allows more. A log has at most kMostEntries entries; it adds further amounts to the newest.
//
// Logs can share a bound of bytes (`room`) for their entries. A log with at most kFreeEntries entries takes nothing
// from this bound. While there is not enough room for another full log, each log keeps only kFreeEntries / 2 entries
// exactly; in a longer log the granule is then a sixteenth of the window. A log that cannot get room for another entry
// adds every amount to the newest entry. Such logs refuse for still longer, and never allow more. A log returns its
// room as entries leave the window.
//
// If the clock steps back, entries from the future count as if they were made now.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "config/clock.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

class WindowLog {
 public:
  using Entry = ModelState::Entry;
  // The number of the entry that received an amount. No other entry of the log ever gets the same number, even after
  // the entry has left the window.
  using Ref = uint64_t;

  static constexpr size_t kExactEntries = 4096;
  // The sum of a full log, with kMostAmount in each entry, still fits into 64 bits.
  static constexpr size_t kMostEntries = 2 * kExactEntries;
  static constexpr Duration Granule(Duration window) { return window / 1024; }
  static constexpr size_t kFreeEntries = 32;
  static constexpr size_t kMostBytes = kMostEntries * sizeof(Entry);
  // Returns true if the next amount is added to the newest entry instead of making another entry. The log has `entries`
  // entries, the newest of which was begun `since` ago. `is_short` is true if there is little room for entries.
  static constexpr bool Merges(size_t entries, Duration since, Duration window, bool is_short) {
    if (entries >= kExactEntries && (since < Granule(window) || entries >= kMostEntries)) return true;
    constexpr size_t kExact = kFreeEntries / 2;
    return is_short && entries >= kExact && since < window / kExact;
  }

  // `room` must outlive the log; null: no bound.
  explicit WindowLog(Duration window, Bound* room = nullptr) : window_(window), ring_(nullptr, {room}) {}

  // Advances the log to `now`: removes the entries that have left the window. The caller must call it, with the same
  // time, before every other function.
  void Advance(WallTime now) {
    while (head_ != tail_ && now - At(head_).time >= window_) used_ -= At(head_++).amount;
    if (tail_ - head_ <= capacity_ / 8 && capacity_ > kFirstCapacity) Shrink();
    if (head_ != tail_ && At(tail_ - 1).time > now) PullBack(now);
  }

  // Adds `amount`, which must be from 1 to kMostAmount. Returns the number of the entry, which the caller passes to
  // GiveBack.
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
  // Subtracts `amount` from an entry, or less if the entry has less. Does nothing if the entry has left the window.
  void GiveBack(Ref ref, int64_t amount);
  // Fills an empty log with those of the saved entries that still count. The other entries would only take room, and
  // cause the log to merge entries.
  void Restore(std::vector<Entry> entries, WallTime now);

  // Frees the log from its bound of bytes, and returns its bytes to the bound.
  void Unbind();

  // Returns the amount that counts.
  int64_t used() const { return used_; }
  // Returns the time until `amount` more is within `limit` if nothing else is added. Visits the entries that must leave
  // the window first. REQUIRES: amount <= limit < used() + amount.
  Duration UntilFits(WallTime now, int64_t amount, int64_t limit) const;
  // Returns the entries that count, in the order of time.
  std::vector<Entry> Entries() const;

 private:
  static constexpr size_t kFirstCapacity = 4;

  // Frees a ring, and returns its bytes to the shared bound.
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
  size_t capacity_ = 0;                      // 0 or a power of two; the number of entries that fit into the ring
  Ref head_ = 0;                             // number of the oldest entry
  Ref tail_ = 0;                             // number of the next entry
  int64_t used_ = 0;
  WallTime newest_first_{};  // when the newest entry was begun
};

}  // namespace weir
