// EventBus: sends messages between relays that share a store. It tells the other relays that there are new events in
// the store, and carries ephemeral events, which no store keeps.
//
//   EventBus bus(std::make_unique<NotifyWire>(…), {.on_wake = …, .on_event = …}, patience);
//   bus.Wake();          // tells the other relays to look at the store
//   bus.Share(json);     // sends them an ephemeral event
//
// A relay that is not connected misses messages, which are not kept for it; it looks at the store from time to time
// anyway. While the bus is not connected, it tries to connect every second. If no message comes for ten seconds, the
// bus sends one to itself, to find out whether the connection still works.
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
  // Called when another relay has called Wake, and after each connect, because messages may have been missed. Several
  // calls of Wake may give one call here.
  std::function<void()> on_wake;
  // Called for each event that another relay has sent. Nothing about `json` has been checked. The view is valid during
  // the call.
  std::function<void(std::string_view json)> on_event;
};

// The counters are numbers of ephemeral events.
struct BusStats {
  bool is_up = false;  // connected, and the last step succeeded
  uint64_t sent = 0;
  uint64_t received = 0;   // from other relays
  uint64_t too_large = 0;  // not sent, because they were larger than a message may be
  uint64_t lost = 0;       // not sent, because the bus was down, too much waited, or the service refused them
};

class EventBus {
 public:
  static constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;  // the most bytes of events that wait to be sent

  // Starts the thread, which connects. The thread gives up a connection that does not answer within `patience`. Throws
  // std::system_error if the process has no descriptor left.
  EventBus(std::unique_ptr<BusWire> wire, BusListener listener, Duration patience);
  // Sends what waits, if the bus is connected, and ends the thread.
  ~EventBus();

  // Tells the other relays that there are new events in the store; if the bus is down, as soon as it is connected.
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
  const std::string sender_;  // a random token, with which all messages of this bus begin
  int wake_up_ = -1;          // an eventfd

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool wakes_ = false;                // the message of Wake has to be sent
  std::vector<std::string> waiting_;  // messages with events, to be sent
  uint64_t waiting_bytes_ = 0;        // bytes of the events in waiting_
  BusStats stats_;
  bool said_too_large_ = false;  // the warning was logged

  // The members from here to thread_ are used on thread_ only.
  bool failed_ = false;                 // the last step failed; the next one connects
  bool said_refused_ = false;           // the warning was logged
  TimePoint heard_at_{};                // when the last message came
  std::optional<TimePoint> probed_at_;  // when the bus sent a message to itself; empty once any message has come
  std::thread thread_;                  // the last member, because it uses the others
};

}  // namespace weir
