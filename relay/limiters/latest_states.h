// LatestStates: the newest states that a limiter has told of its keys or endpoints, for code that shows them each
// second and cannot wait. The limiter answers a moment later, from the thread that is at the last shard.
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

  // Calls `describe` once more, and returns the newest states: those of this call if it is answered at once, else the
  // ones before.
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
