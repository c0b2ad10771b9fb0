// LatestStates: keeps the newest states of a limiter's keys or endpoints, for code that shows them each second and must
// not wait. The limiter itself may answer a moment later, on another thread (keyed_limiter.h, queued_limiter.h).
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

  // Calls `describe`, which must call its argument once, with the present states, at any time and on any thread.
  // Returns these states if they come before `describe` returns, else the newest states that came before; none if none
  // came yet.
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
