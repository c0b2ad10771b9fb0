// OwnEvents: the new events of this relay, for a link that sends them to another relay. It takes every event that the
// relay delivers to live subscribers, and holds it until the link asks for it. If the link does not ask for long,
// events are lost here; the link then compares the stores again.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/mutex.h"
#include "relay/protocol/delivery.h"

namespace weir {

class OwnEvents final : public LiveWatcher {
 public:
  static constexpr size_t kMostEvents = 10'000;
  static constexpr uint64_t kMostBytes = 4 << 20;

  // Watches from now on. `delivery` must outlive the object.
  explicit OwnEvents(Delivery& delivery) : delivery_(delivery) { delivery_.Watch(this); }
  ~OwnEvents() override { delivery_.Unwatch(this); }
  OwnEvents(const OwnEvents&) = delete;
  OwnEvents& operator=(const OwnEvents&) = delete;

  // Returns the events since the last call, in their order.
  std::vector<Event> Take();
  // Returns true if events were lost since the last call.
  bool TakeLost();

  void OnDelivered(std::span<const LiveEvent> events) override;

 private:
  Delivery& delivery_;
  Mutex mutex_;
  std::vector<Event> events_ WEIR_GUARDED_BY(mutex_);
  uint64_t bytes_ WEIR_GUARDED_BY(mutex_) = 0;
  bool lost_ WEIR_GUARDED_BY(mutex_) = false;
};

}  // namespace weir
