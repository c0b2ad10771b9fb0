// OwnEvents: the events that this relay has just saved, for a link that sends them to another relay. It holds each
// event that the link wants until the link asks for it. If the link does not ask for long, events are left out here,
// and counted; a comparison of the stores finds them.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "relay/protocol/delivery.h"

namespace weir {

class OwnEvents final : public LiveWatcher {
 public:
  static constexpr size_t kMostEvents = 10'000;
  static constexpr uint64_t kMostBytes = 4 << 20;

  using Wants = std::function<bool(EventView event)>;

  // Watches from now on. `delivery` must outlive the object. `wants` is called on the threads that save events.
  OwnEvents(Delivery& delivery, Wants wants) : delivery_(delivery), wants_(std::move(wants)) { delivery_.Watch(this); }
  ~OwnEvents() override { delivery_.Unwatch(this); }
  OwnEvents(const OwnEvents&) = delete;
  OwnEvents& operator=(const OwnEvents&) = delete;

  // Returns the events since the last call, in their order.
  std::vector<Event> Take();
  // Returns how many events were left out since the last call.
  uint64_t TakeLeftOut();

  void OnSaved(std::span<const LiveEvent> events) override;

 private:
  Delivery& delivery_;
  const Wants wants_;
  Mutex mutex_;
  std::vector<Event> events_ WEIR_GUARDED_BY(mutex_);
  uint64_t bytes_ WEIR_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
