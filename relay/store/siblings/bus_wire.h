// BusWire: the interface to a message service (NOTIFY of PostgreSQL, or a Redis). Through it, an EventBus (event_bus.h)
// reaches the other relays on its store. A message reaches either all of these relays that are connected to the
// service, including its sender, or none of them.
//
// Threads: only one thread at a time may use a BusWire.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

class BusWire {
 public:
  virtual ~BusWire() = default;

  // Connects, and replaces an existing connection. Fails if the service takes longer than `patience` for one of its
  // answers.
  virtual Status Connect(Duration patience) = 0;
  // Returns a descriptor that becomes readable when messages may have arrived. Returns -1 if there is no connection,
  // which is the case before Connect and after most errors.
  virtual int socket() const = 0;
  // Sends messages, and waits until the service accepts them, up to `patience` for each of its answers. If this fails
  // and socket() is not -1, the service has refused these messages, but the connection still works.
  virtual Status Send(std::span<const std::string> messages, Duration patience) = 0;
  // Calls `on_message` for each message that has arrived; the view is valid only during the call. Does not wait for
  // messages.
  virtual Status Receive(const std::function<void(std::string_view message)>& on_message) = 0;
  virtual size_t max_message_bytes() const = 0;
  // Returns the name of the service for log messages, such as "NOTIFY" or "redis://127.0.0.1:6379".
  virtual std::string name() const = 0;
};

}  // namespace weir
