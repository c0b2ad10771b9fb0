// EventBus: how relays that share a store reach each other at once: that there is news in the store, and ephemeral
// events, which are in no store.
//
//   EventBus bus(std::make_unique<NotifyWire>(…), {.on_wake = …, .on_event = …});
//   bus.Wake();          // the others look
//   bus.Share(json);     // the others have it
//
// Nothing is kept: who is away misses it, and looks at the store from time to time anyway. What waits to be sent is
// bounded in bytes. Where nothing comes for ten seconds, the bus sends a message to itself: a connection whose other
// end is gone does not say so.
//
// Threads: Wake, Share and Stats from any thread. The listener is called on the bus's own.
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
  uint64_t sent = 0;  // ephemeral events, as all that follow
  uint64_t received = 0;
  uint64_t too_large = 0;  // for the wire
  uint64_t lost = 0;       // it was down, or too much waited
};

class EventBus {
 public:
  static constexpr uint64_t kMostWaitingBytes = uint64_t{8} << 20;

  // Throws std::system_error where the process has no descriptor left.
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
  const std::string sender_;  // a token: what has it was sent from here
  int wake_up_ = -1;          // an eventfd

  mutable std::mutex mutex_;
  bool stopping_ = false;
  bool wakes_ = false;  // the others are to be
  std::vector<std::string> waiting_;
  uint64_t waiting_bytes_ = 0;
  BusStats stats_;
  bool said_too_large_ = false;

  bool failed_ = false;  // the thread's, as those that follow
  bool said_refused_ = false;
  TimePoint heard_at_{};
  std::optional<TimePoint> probed_at_;  // and nothing has come since
  std::thread thread_;                  // last: it uses the others
};

}  // namespace weir
