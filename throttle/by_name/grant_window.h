// GrantWindow: counts the grants that were made in the present window, and knows which of them can still be given back.
//
// A sliding window has the length of kSlices slices. A grant counts if it was made in the current slice or in one of
// the kSlices slices before it. So any stretch of time as long as the window lies within slices that count together,
// and the limit holds in each such stretch. A fixed window is one slice; when it ends, the next window begins.
//
// Threads: only one at a time may use a GrantWindow. Call Advance with the present time before every other function,
// unless the comment of that function says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "config/clock.h"
#include "throttle/by_name/window_kind.h"

namespace weir {

class GrantWindow {
 public:
  static constexpr uint32_t kSlices = 32;
  // The most stretches of consecutive numbers that are remembered of the grants that were given back. Beyond that, the
  // oldest grants of the window cannot be given back any more.
  static constexpr size_t kMostGivenBack = 256;

  // The first window begins at `now`. Grants are numbered one after the other, from `first` on.
  GrantWindow(TimePoint now, Duration window, WindowKind kind, uint64_t first)
      : slice_start_(now),
        slice_(kind == WindowKind::kSliding ? window / kSlices : window),
        next_(first),
        oldest_(first),
        slides_(kind == WindowKind::kSliding) {}

  // Moves on to the time `now`: grants that have left the window stop counting.
  void Advance(TimePoint now) {
    if (now - slice_start_ >= slice_) [[unlikely]]
      Shift(now);
  }
  // Changes the length and the kind of the window. Grants that count now go on counting for one new window from `now`
  // on, but cannot be given back any more.
  void Change(TimePoint now, Duration window, WindowKind kind);
  // Begins a fixed window now, in which no grant counts yet.
  void Restart(TimePoint now, Duration window) { *this = GrantWindow(now, window, WindowKind::kFixed, next_); }

  // Returns how many grants count.
  uint32_t used() const { return used_; }
  // Returns what used() would return after Advance(now), but changes nothing. Needs no Advance.
  uint32_t UsedAt(TimePoint now) const;
  // Adds `count` grants and returns the number of the first.
  uint64_t Add(uint32_t count = 1);
  // Gives a grant back, so that it stops counting. Returns false, and changes nothing, if the grant does not count, was
  // given back before or is too old to be given back. If `may_grow` is false, takes no more memory; then older grants
  // may become impossible to give back.
  bool GiveBack(uint64_t number, bool may_grow = true);
  // Returns when the oldest grant that counts will have left the window. used() must be above 0.
  TimePoint NextLeaves() const;
  // Returns the end of the slice that was current at the last Advance. Needs no Advance.
  TimePoint slice_end() const { return slice_start_ + slice_; }
  // Returns how many bytes the window holds, or will hold soon, in addition to this object. GiveBack adds at most
  // kMostGrowth to them.
  size_t more_bytes() const {
    if (past_ == nullptr) return slides_ ? sizeof(Past) : 0;
    return sizeof(Past) + past_->given_back.size() * kStretchBytes;
  }
  static const size_t kMostGrowth;

 private:
  static constexpr size_t kStretchBytes = 64;

  struct Slice {
    uint64_t first = 0;  // the number of its first grant
    uint32_t used = 0;
  };
  // The data that most windows never need.
  struct Past {
    std::array<Slice, kSlices + 1> slices;    // for a sliding window: a ring
    uint32_t current = 0;                     // the current slice
    std::map<uint64_t, uint64_t> given_back;  // stretches, each from its first grant to the one after its last
  };

  void Shift(TimePoint now);
  void ForgetBefore(uint64_t oldest);
  Past& Needed();

  TimePoint slice_start_;
  Duration slice_;
  uint64_t next_;    // the number of the next grant
  uint64_t oldest_;  // the oldest grant that can be given back
  uint32_t used_ = 0;
  bool slides_;
  std::unique_ptr<Past> past_;
};
inline const size_t GrantWindow::kMostGrowth = sizeof(Past) + kStretchBytes;

}  // namespace weir
