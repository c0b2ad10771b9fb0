// GrantWindow: how much of what was granted counts now, and which grants can still be given back.
//
// A window is cut into slices; what counts is the slice that runs and, of a sliding window, the kSlices before it. So
// any window lies within what counts, and the limit holds in each. A fixed window is one slice.
//
// Threads: one at a time. Advance goes before every other call, with the time of now.
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
  // Of the grants of a window so many stretches that were given back are remembered; no more than there are already,
  // where it may not grow. With more of them the oldest grants cannot be given back any longer.
  static constexpr size_t kMostGivenBack = 256;

  // first: the number of the first grant; the others follow it.
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
  // What counts goes on counting, as of now.
  void Change(TimePoint now, Duration window, WindowKind kind);
  // A fixed one begins now; nothing counts.
  void Restart(TimePoint now, Duration window) { *this = GrantWindow(now, window, WindowKind::kFixed, next_); }

  uint32_t used() const { return used_; }
  // Without Advance.
  uint32_t UsedAt(TimePoint now) const;
  // The number by which it can be given back; of more than one, that of the first.
  uint64_t Add(uint32_t count = 1);
  // True: it counted, and does so no more. Once for each.
  bool GiveBack(uint64_t number, bool may_grow = true);
  // When the first of what counts will have left. used() > 0.
  TimePoint NextLeaves() const;
  // Of the slice that ran at the last Advance.
  TimePoint slice_end() const { return slice_start_ + slice_; }
  // What it holds, or soon will, beside itself; and how much more it may be after a GiveBack.
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
  // What most keys never need.
  struct Past {
    std::array<Slice, kSlices + 1> slices;  // of a sliding window, a ring
    uint32_t current = 0;
    std::map<uint64_t, uint64_t> given_back;  // stretches of grants: from the first to the one behind the last
  };

  void Shift(TimePoint now);
  void ForgetBefore(uint64_t oldest);
  Past& Needed();

  TimePoint slice_start_;
  Duration slice_;
  uint64_t next_;
  uint64_t oldest_;  // that can be given back
  uint32_t used_ = 0;
  bool slides_;
  std::unique_ptr<Past> past_;
};
inline const size_t GrantWindow::kMostGrowth = sizeof(Past) + kStretchBytes;

}  // namespace weir
