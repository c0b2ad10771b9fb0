#include "import/links/own_events.h"

#include <utility>

namespace weir {

std::vector<Event> OwnEvents::Take() {
  const MutexLock lock(mutex_);
  bytes_ = 0;
  return std::exchange(events_, {});
}

bool OwnEvents::TakeLost() {
  const MutexLock lock(mutex_);
  return std::exchange(lost_, false);
}

// A watcher must not throw, so a lack of memory loses the events.
void OwnEvents::OnDelivered(std::span<const LiveEvent> events) {
  const MutexLock lock(mutex_);
  for (const LiveEvent& live : events) {
    const uint64_t bytes = live.event.record()->size();
    if (events_.size() >= kMostEvents || bytes_ + bytes > kMostBytes) {
      lost_ = true;
      return;
    }
    try {
      events_.push_back(live.event);
      bytes_ += bytes;
    } catch (const std::bad_alloc&) {
      lost_ = true;
      return;
    }
  }
}

}  // namespace weir
