#include "import/links/own_events.h"

#include <new>

namespace weir {

std::vector<Event> OwnEvents::Take() {
  const MutexLock lock(mutex_);
  bytes_ = 0;
  return std::exchange(events_, {});
}

uint64_t OwnEvents::TakeLeftOut() {
  const MutexLock lock(mutex_);
  return std::exchange(left_out_, 0);
}

// A watcher must not throw, so an event for which there is no memory is left out.
void OwnEvents::OnSaved(std::span<const LiveEvent> events) {
  for (const LiveEvent& live : events) {
    if (!wants_(live.event.view())) continue;
    const uint64_t bytes = live.event.record()->size();
    const MutexLock lock(mutex_);
    const bool has_room = events_.size() < kMostEvents && bytes_ + bytes <= kMostBytes;
    try {
      if (has_room) events_.push_back(live.event);
    } catch (const std::bad_alloc&) {
      ++left_out_;
      continue;
    }
    has_room ? bytes_ += bytes : ++left_out_;
  }
}

}  // namespace weir
