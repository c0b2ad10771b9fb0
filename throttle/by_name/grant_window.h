// GrantWindow: how much of what was granted counts now, and which grants can still be given back.
//
// A window is cut into slices. Grants count if they fell into the slice that runs or, in a sliding window, into the
// kSlices before it. So any window lies within the slices that count, and the limit holds in each. A fixed window is
// one slice.
//
// Threads: one at a time. Call Advance, with the present time, before every other call.
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
  // How many stretches of grants that were given back a window remembers; if it may not grow, no more than it has
  // already. Beyond that the oldest grants cannot be given back any longer.
  static constexpr size_t kMostGivenBack = 256;

  // `first` is the number of the first grant; the others follow it.
  GrantWindow(TimePoint now, Duration window, WindowKind kind, uint64_t first)
      : slice_start_(now),
        slice_(kind == WindowKind::kSliding ? window / kSlices : window),
        next_(first),
        oldest_(first),
        slides_(kind == WindowKind::kSliding) {}

  void Advance(TimePoint now) {
    if (now - slice_start_ >= slice_) [[unlikely]]
      Shift(now);
  }
  // Changes the window. Grants that count go on counting, for a whole new window from now.
  void Change(TimePoint now, Duration window, WindowKind kind);
  // Begins a fixed window now, in which nothing counts yet.
  void Restart(TimePoint now, Duration window) { *this = GrantWindow(now, window, WindowKind::kFixed, next_); }

  uint32_t used() const { return used_; }
  // Returns used() as of `now`; needs no Advance.
  uint32_t UsedAt(TimePoint now) const;
  // Adds `count` grants. Returns the number of the first, by which it can be given back.
  uint64_t Add(uint32_t count = 1);
  // Returns true if the grant counted; it no longer does. Works once for each grant.
  bool GiveBack(uint64_t number, bool may_grow = true);
  // Returns when the first grant that counts will have left the window. Needs used() > 0.
  TimePoint NextLeaves() const;
  // The end of the slice that ran at the last Advance.
  TimePoint slice_end() const { return slice_start_ + slice_; }
  // Bytes that it holds beside itself, or soon will. A GiveBack may add up to kMostGrowth to them.
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
  // The part that most keys never need.
  struct Past {
    std::array<Slice, kSlices + 1> slices;  // for a sliding window: a ring
    uint32_t current = 0;
    std::map<uint64_t, uint64_t> given_back;  // stretches of grants: from the first to the one after the last
  };

  void Shift(TimePoint now);
  void ForgetBefore(uint64_t oldest);
  Past& Needed();

  TimePoint slice_start_;
  Duration slice_;
  uint64_t next_;
  uint64_t oldest_;  // the oldest grant that can be given back
  uint32_t used_ = 0;
  bool slides_;
  std::unique_ptr<Past> past_;
};
inline const size_t GrantWindow::kMostGrowth = sizeof(Past) + kStretchBytes;

}  // namespace weir
