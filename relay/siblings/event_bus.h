// EventBus: sends messages between relays that share a store. Some messages tell the other relays that the store has
// new events; others carry ephemeral events, which no store keeps.
//
//   EventBus bus(std::make_unique<NotifyWire>(…), {.on_wake = …, .on_event = …}, patience);
//   bus.Wake();          // tells the other relays to read the store
//   bus.Share(json);     // sends an ephemeral event to the other relays
//
// A relay that is not connected misses messages, because the service does not keep them; so each relay also reads the
// store from time to time. While the bus is not connected, it tries to connect every second. If no message arrives for
// ten seconds, the bus sends a message to itself, to find out whether the connection still works.
//
// Threads: Wake, Share and Stats may be called from any thread and do not wait. The listener is called on the bus's own
// thread.
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
  // Called when another relay has called Wake, and after each connect, because messages may have been missed. May be
  // called only once for several calls of Wake.
  std::function<void()> on_wake;
  // Called for each event that another relay has sent. `json` has not been checked in any way. The view is valid only
  // during the call.
  std::function<void(std::string_view json)> on_event;
};

// The counters are numbers of ephemeral events.
struct BusStats {
  bool is_up = false;  // true if the bus is connected and its last step succeeded
  uint64_t sent = 0;
  uint64_t received = 0;   // events from other relays
  uint64_t too_large = 0;  // events not sent because they were larger than a message may be
  uint64_t lost = 0;       // events not sent because the bus was down, too many waited, or the service refused them
};

class EventBus {
 public:
  static constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;  // the most bytes of events that wait to be sent

  // Starts the thread, which connects. The thread drops a connection that does not answer within `patience`. Throws
  // std::system_error if the process has no descriptor left.
  EventBus(std::unique_ptr<BusWire> wire, BusListener listener, Duration patience);
  // Sends the waiting messages if the bus is connected, and ends the thread.
  ~EventBus();

  // Tells the other relays that the store has new events. If the bus is down, does so as soon as it is connected.
  void Wake();
  // Sends an ephemeral event to the other relays. Drops and counts it if the bus is down, if it is too large, or if
  // kMostWaitingBytes would be exceeded.
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
  const std::string sender_;  // a random token with which all messages of this bus begin
  int wake_up_ = -1;          // an eventfd

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool wakes_ = false;                // true if the message of Wake has to be sent
  std::vector<std::string> waiting_;  // messages with events that have to be sent
  uint64_t waiting_bytes_ = 0;        // bytes of the events in waiting_
  BusStats stats_;
  bool said_too_large_ = false;  // true once the warning was logged

  // Only thread_ uses the members from here to thread_.
  bool failed_ = false;                 // true if the last step failed; the next step then connects
  bool said_refused_ = false;           // true once the warning was logged
  TimePoint heard_at_{};                // the time at which the last message arrived
  std::optional<TimePoint> probed_at_;  // the time of the last message to itself; empty once any message has arrived
  std::thread thread_;                  // the last member, because it uses the others
};

}  // namespace weir
