// NameBound: how many names may be held, over all shards.
#pragma once

#include <atomic>
#include <cstddef>

namespace weir {

class NameBound {
 public:
  explicit NameBound(size_t most) : most_(most) {}

  // All of them or none.
  bool Take(size_t names) {
    if (held_.fetch_add(names, std::memory_order_relaxed) + names <= most_) return true;
    GiveBack(names);
    return false;
  }
  void GiveBack(size_t names) { held_.fetch_sub(names, std::memory_order_relaxed); }
  bool HasRoom(size_t names) const { return held_.load(std::memory_order_relaxed) + names <= most_; }

 private:
  const size_t most_;
  std::atomic<size_t> held_{0};
};

}  // namespace weir
