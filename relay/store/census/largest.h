// Largest: keeps the items with the greatest weights among any number of items, in bounded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir {

template <typename Item>
class Largest {
 public:
  explicit Largest(size_t most) : most_(most) {}

  // Returns true if an item of this weight would be kept.
  bool Takes(double weight) const { return kept_.size() < most_ || (most_ > 0 && weight > kept_.front().first); }
  void Add(double weight, Item item) {
    if (!Takes(weight)) return;
    if (kept_.size() == most_) {
      std::pop_heap(kept_.begin(), kept_.end(), kLightestFirst);
      kept_.pop_back();
    }
    kept_.emplace_back(weight, std::move(item));
    std::push_heap(kept_.begin(), kept_.end(), kLightestFirst);
  }
  // Returns the items, the heaviest first.
  std::vector<Item> Take() && {
    std::sort_heap(kept_.begin(), kept_.end(), kLightestFirst);
    std::vector<Item> items;
    for (auto& [weight, item] : kept_) items.push_back(std::move(item));
    return items;
  }

 private:
  using Kept = std::pair<double, Item>;
  static constexpr auto kLightestFirst = [](const Kept& a, const Kept& b) { return a.first > b.first; };

  const size_t most_;
  std::vector<Kept> kept_;  // a heap whose first item is the lightest
};

}  // namespace weir
