// LatestStates: what a limiter last said of its keys or endpoints, for who shows them each second and cannot wait: what
// it says comes a moment later, from whichever thread is at the last shard.
//
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace weir {

template <typename State>
class LatestStates {
 public:
  using Done = std::function<void(std::vector<State>)>;

  // Has `describe` asked once more, and returns what was said last: now, where it answers at once.
  std::vector<State> Ask(const std::function<void(Done)>& describe) const {
    describe([kept = kept_](std::vector<State> states) {
      const std::lock_guard lock(kept->mutex);
      kept->states = std::move(states);
    });
    const std::lock_guard lock(kept_->mutex);
    return kept_->states;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<State> states;
  };
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace weir
