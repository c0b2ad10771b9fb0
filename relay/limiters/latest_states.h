// LatestStates: gets the states of a limiter's keys or endpoints for the live page, which shows them once a second and
// must not block. The limiter may pass its states to a callback late, on another thread (keyed_limiter.h,
// queued_limiter.h). So this class remembers the states that it received last.
//
// Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "config/mutex.h"

namespace weir {

template <typename State>
class LatestStates {
 public:
  using Done = std::function<void(std::vector<State>)>;

  // Calls `describe` with a callback. `describe` asks the limiter to call that callback once with its present states,
  // on any thread, before `describe` returns or later. Ask does not wait for that call. It returns the states that the
  // newest call has brought, perhaps for an earlier Ask. The vector is empty if there was no call yet.
  std::vector<State> Ask(const std::function<void(Done)>& describe) const {
    describe([kept = kept_](std::vector<State> states) {
      const MutexLock lock(kept->mutex);
      kept->states = std::move(states);
    });
    const MutexLock lock(kept_->mutex);
    return kept_->states;
  }

 private:
  struct Kept {
    Mutex mutex;
    std::vector<State> states WEIR_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();  // callbacks share it, and may outlive this object
};

}  // namespace weir
