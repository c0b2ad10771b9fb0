// Bound: how many of something may be held, over all shards and threads.
//
// Threads: any.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace weir {

class Bound {
 public:
  explicit Bound(size_t most) : most_(most) {}

  // Takes all of them, or none and returns false.
  bool Take(size_t count) {
    if (held_.fetch_add(count, std::memory_order_relaxed) + count <= most()) return true;
    GiveBack(count);
    return false;
  }
  // Takes them even if that exceeds the bound.
  void TakeAnyway(size_t count) { held_.fetch_add(count, std::memory_order_relaxed); }
  void GiveBack(size_t count) { held_.fetch_sub(count, std::memory_order_relaxed); }
  bool HasRoom(size_t count) const { return held() + count <= most(); }
  size_t held() const { return held_.load(std::memory_order_relaxed); }
  // A lower bound takes nothing back that is held already.
  void SetMost(size_t most) { most_.store(most, std::memory_order_relaxed); }
  size_t left() const { return most() - std::min(most(), held()); }
  double fullness() const { return static_cast<double>(held()) / static_cast<double>(most()); }

 private:
  size_t most() const { return most_.load(std::memory_order_relaxed); }

  std::atomic<size_t> most_;
  std::atomic<size_t> held_{0};
};

}  // namespace weir
