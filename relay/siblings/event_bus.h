// EventBus: lets relays that share a store reach each other at once. It tells that there is news in the store, and
// carries ephemeral events, which are in no store.
//
//   EventBus bus(std::make_unique<NotifyWire>(…), {.on_wake = …, .on_event = …});
//   bus.Wake();          // tells the other relays to look at the store
//   bus.Share(json);     // sends them an ephemeral event
//
// A relay that is not connected misses messages, which are not kept for it; it looks at the store from time to time
// anyway. Messages that wait to be sent are bounded in bytes. If nothing comes for ten seconds, the bus sends a message
// to itself, because a connection whose other end is gone does not say so.
//
// Threads: Wake, Share and Stats may be called from any thread. The listener is called on the bus's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "relay/siblings/bus_wire.h"

namespace weir {

struct BusListener {
  std::function<void()> on_wake;
  std::function<void(std::string_view json)> on_event;
};

struct BusStats {
  bool is_up = false;
  uint64_t sent = 0;  // this and the counters below: ephemeral events
  uint64_t received = 0;
  uint64_t too_large = 0;  // larger than the wire takes
  uint64_t lost = 0;       // because the bus was down, or too much waited
};

class EventBus {
 public:
  static constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;

  // Throws std::system_error if the process has no descriptor left.
  EventBus(std::unique_ptr<BusWire> wire, BusListener listener, Duration patience);
  ~EventBus();

  void Wake();
  void Share(std::string_view json);
  BusStats Stats() const;

 private:
  void Run();
  Status Step();
  bool SleepUntilThereIsWork();
  Status SendAll();
  Status ReceiveAll();
  void NoteStatus(const Status& status);
  void Signal() const;

  const std::unique_ptr<BusWire> wire_;
  const BusListener listener_;
  const Duration patience_;
  const std::string sender_;  // a token: messages that begin with it were sent from here
  int wake_up_ = -1;          // an eventfd

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool wakes_ = false;  // a message that wakes the others has to be sent
  std::vector<std::string> waiting_;
  uint64_t waiting_bytes_ = 0;
  BusStats stats_;
  bool said_too_large_ = false;

  bool failed_ = false;  // this and the members below: used on thread_ only
  bool said_refused_ = false;
  TimePoint heard_at_{};
  std::optional<TimePoint> probed_at_;  // when a probe was sent; empty once something has come
  std::thread thread_;                  // last: it uses the others
};

}  // namespace weir
