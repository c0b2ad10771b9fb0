// BusWire: the transport of an EventBus. A message reaches all connected relays, its sender included, or none.
//
// Threads: one at a time.
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

  // Connects. An existing connection is replaced.
  virtual Status Connect(Duration patience) = 0;
  // A descriptor that becomes readable when messages may have come; -1 if there is no connection, as after most errors.
  virtual int socket() const = 0;
  // If Send fails and the connection is still there, then only these messages were refused.
  virtual Status Send(std::span<const std::string> messages, Duration patience) = 0;
  // Passes each message that has come to `on_message`. Does not wait.
  virtual Status Receive(const std::function<void(std::string_view message)>& on_message) = 0;
  virtual size_t max_message_bytes() const = 0;
  // For people to read: "NOTIFY", "redis://127.0.0.1:6379".
  virtual std::string name() const = 0;
};

}  // namespace weir
