// Bound: a limit on how many units of something (bytes, files, connections) the whole program may hold at a time.
//
// Threads: any thread may call any function.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace weir {

class Bound {
 public:
  explicit Bound(size_t most) : most_(most) {}

  // Takes `count` units and returns true, or takes none and returns false if they would exceed the bound. While a Take
  // of another thread is failing, this one may refuse units that would fit.
  bool Take(size_t count) {
    if (held_.fetch_add(count, std::memory_order_relaxed) + count <= most()) return true;
    GiveBack(count);
    return false;
  }
  // Takes `count` units even if they exceed the bound.
  void TakeAnyway(size_t count) { held_.fetch_add(count, std::memory_order_relaxed); }
  // Releases units that were taken before.
  void GiveBack(size_t count) { held_.fetch_sub(count, std::memory_order_relaxed); }
  // Returns true if `count` more units fit now. Another thread may take them before the caller does.
  bool HasRoom(size_t count) const { return held() + count <= most(); }
  size_t held() const { return held_.load(std::memory_order_relaxed); }
  // Changes the bound. Units that are held already stay held, even if they exceed the new bound.
  void SetMost(size_t most) { most_.store(most, std::memory_order_relaxed); }
  // Returns how many more units fit; 0 if the bound is exceeded.
  size_t left() const { return most() - std::min(most(), held()); }
  // Returns held() as a share of the bound: above 1 if the bound is exceeded.
  double fullness() const { return static_cast<double>(held()) / static_cast<double>(most()); }

 private:
  size_t most() const { return most_.load(std::memory_order_relaxed); }

  std::atomic<size_t> most_;
  std::atomic<size_t> held_{0};
};

}  // namespace weir
