// GrantWindow: counts the grants (requests that were let through) in the current window of time. The caller may release
// a grant early, so that it no longer counts; the window remembers which grants were released, so that none is released
// twice.
//
// A sliding window consists of kSlices slices of equal length. A grant counts until kSlices slices have passed after
// its own slice, so it counts for at least the length of the window, and for at most one slice more. A fixed window is
// a single slice: when it ends, all its grants stop counting, and the next window begins.
//
// Threads: only one at a time may use a GrantWindow. Call Advance with the present time before every other function,
// unless the comment of that function says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "config/clock.h"
#include "throttle/limits/by_name/window_kind.h"

namespace weir {

class GrantWindow {
 public:
  static constexpr uint32_t kSlices = 32;
  // The most ranges of consecutive numbers in which released grants are stored. If there are more, GiveBack forgets the
  // lowest range; after that, no grant with a number below the end of that range can be released.
  static constexpr size_t kMostGivenBack = 256;

  // The first window begins at `now`. Grants get consecutive numbers, beginning with `first`.
  GrantWindow(TimePoint now, Duration window, WindowKind kind, uint64_t first)
      : slice_start_(now),
        slice_(kind == WindowKind::kSliding ? window / kSlices : window),
        next_(first),
        oldest_(first),
        slides_(kind == WindowKind::kSliding) {}

  // Moves the window on to the time `now`: grants that have left the window stop counting.
  void Advance(TimePoint now) {
    if (now - slice_start_ >= slice_) [[unlikely]]
      Shift(now);
  }
  // Changes the length and the kind of the window. Grants that count now keep counting for one new window, which begins
  // at `begin`, but cannot be released any more. A fixed window may have begun before the present time, or begin at
  // most one length after it (if the clock of a store has stepped back); the grants of the time until then count in it,
  // too.
  void Change(TimePoint begin, Duration window, WindowKind kind);
  // Begins a fixed window at `begin`, in which no grant counts yet. The same holds for `begin` as in Change.
  void Restart(TimePoint begin, Duration window) { *this = GrantWindow(begin, window, WindowKind::kFixed, next_); }

  // Returns the number of grants that count.
  uint32_t used() const { return used_; }
  // Returns the value that used() would have after Advance(now), but changes nothing. Needs no Advance.
  uint32_t UsedAt(TimePoint now) const;
  // Adds `count` grants and returns the number of the first of them.
  uint64_t Add(uint32_t count = 1);
  // Releases the grant with that number, so that it stops counting. Returns false, and changes nothing, if the grant
  // does not count, was released before, or is too old (kMostGivenBack). If `may_grow` is false, the window uses no
  // more memory than before; after that, it may refuse to release grants that are older than a released grant.
  bool GiveBack(uint64_t number, bool may_grow = true);
  // Returns the time at which the oldest grant that counts will stop counting. REQUIRES: used() is above 0.
  TimePoint NextLeaves() const;
  // Returns the end of the slice that was current at the last Advance. Needs no Advance.
  TimePoint slice_end() const { return slice_start_ + slice_; }
  // Returns how many bytes of memory this object uses in addition to its own size, or will use after the next Add.
  // GiveBack adds at most kMostGrowth bytes.
  size_t more_bytes() const {
    if (past_ == nullptr) return slides_ ? sizeof(Past) : 0;
    return sizeof(Past) + past_->given_back.size() * kStretchBytes;
  }
  static const size_t kMostGrowth;

 private:
  static constexpr size_t kStretchBytes = 64;

  struct Slice {
    uint64_t first = 0;  // the number of the first grant of the slice
    uint32_t used = 0;
  };
  // The data that a fixed window needs only after a release, and a sliding window while grants count.
  struct Past {
    std::array<Slice, kSlices + 1> slices;    // a ring buffer, used by a sliding window only
    uint32_t current = 0;                     // the index of the current slice
    std::map<uint64_t, uint64_t> given_back;  // ranges of released grants: the first number, and one past the last
  };

  void Shift(TimePoint now);
  void ForgetBefore(uint64_t oldest);
  Past& Needed();

  TimePoint slice_start_;
  Duration slice_;
  uint64_t next_;    // the number of the next grant
  uint64_t oldest_;  // the number of the oldest grant that can be released
  uint32_t used_ = 0;
  bool slides_;
  std::unique_ptr<Past> past_;
};
inline const size_t GrantWindow::kMostGrowth = sizeof(Past) + kStretchBytes;

}  // namespace weir
