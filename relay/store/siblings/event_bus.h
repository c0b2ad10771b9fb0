// EventBus: sends messages between relays that share a store, through a message service (bus_wire.h): NOTIFY of their
// PostgreSQL, or a Redis. A message either says that the store has new events, or carries an ephemeral event, which no
// store saves.
//
//   EventBus bus(std::make_unique<NotifyWire>(…), {.on_wake = …, .on_event = …}, patience);
//   bus.Wake();          // tells the other relays to read the store
//   bus.Share(json);     // sends an ephemeral event to the other relays
//
// The service does not keep messages, so a relay that is not connected misses them. Therefore each relay also reads the
// store at fixed intervals (siblings.h). While the bus is not connected, it tries every second to connect. If no
// message arrives for ten seconds, the bus sends a message that the service returns to it. If neither that message nor
// another one arrives within `patience`, the bus treats the connection as broken.
//
// Threads: Wake, Share and Stats may be called from any thread, and do not wait for the service. A thread of the bus
// connects, sends and receives, and calls the listener.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/store/siblings/bus_wire.h"

namespace weir {

struct BusListener {
  // Called when another relay has called Wake; one call may stand for several calls of Wake. Also called after each
  // connect, because the bus may have missed messages before.
  std::function<void()> on_wake;
  // Called for each ephemeral event that another relay has sent. `json` may be any text; the bus does not check it. The
  // view is valid only during the call.
  std::function<void(std::string_view json)> on_event;
};

// `is_up` is the state of the bus. All other members count ephemeral events.
struct BusStats {
  bool is_up = false;  // true if the bus is connected and could last send and receive
  uint64_t sent = 0;
  uint64_t received = 0;   // events from other relays
  uint64_t too_large = 0;  // events not sent because they were larger than a message may be
  uint64_t lost = 0;       // events not sent because the bus was down, too many waited, or the service refused them
};

class EventBus {
 public:
  static constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;  // the most bytes of events that wait to be sent

  // Starts the thread, which connects. The thread drops the connection if the service does not answer within
  // `patience`. Throws std::system_error if the process has no file descriptor left, or can start no thread.
  EventBus(std::unique_ptr<BusWire> wire, BusListener listener, Duration patience);
  // Sends the waiting messages if the bus is connected, then ends the thread.
  ~EventBus();

  // Tells the other relays that the store has new events. If the bus is not connected, does so once it is connected. If
  // the message is lost, the others find the events when they next read the store.
  void Wake();
  // Sends an ephemeral event to the other relays. If the bus is not connected, if the event is too large, or if the
  // waiting events would exceed kMostWaitingBytes, drops the event and counts it in BusStats.
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
  const std::string sender_;  // a random token at the start of each message, by which the bus recognises its own
  int wake_up_ = -1;          // an eventfd

  mutable Mutex mutex_;
  bool stopping_ WEIR_GUARDED_BY(mutex_) = false;
  bool wakes_ WEIR_GUARDED_BY(mutex_) = false;  // true if Wake was called and its message has not been sent
  std::vector<std::string> waiting_ WEIR_GUARDED_BY(mutex_);  // messages with events that have to be sent
  uint64_t waiting_bytes_ WEIR_GUARDED_BY(mutex_) = 0;        // bytes of the events in waiting_
  BusStats stats_ WEIR_GUARDED_BY(mutex_);
  bool said_too_large_ WEIR_GUARDED_BY(mutex_) = false;  // true once the warning was logged

  // Only thread_ uses the members from here to probed_at_.
  bool failed_ = false;                 // true if the last step failed; the next step then connects again
  bool said_refused_ = false;           // true once a refusal by the service was logged
  TimePoint heard_at_{};                // when the last message arrived
  std::optional<TimePoint> probed_at_;  // when the bus last sent a message to itself; empty once any message arrives
  std::thread thread_;                  // the last member, because it uses the others
};

}  // namespace weir
