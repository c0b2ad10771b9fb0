// BusWire: what an EventBus goes over. Each message reaches all who are connected, the sender too, or nobody.
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

  // Made anew where there was a connection.
  virtual Status Connect(Duration patience) = 0;
  // Readable where something may have come. -1: there is no connection, as after most errors.
  virtual int socket() const = 0;
  // After an error on a connection that is still there, these messages alone would not do.
  virtual Status Send(std::span<const std::string> messages, Duration patience) = 0;
  // What has come, without waiting.
  virtual Status Receive(const std::function<void(std::string_view message)>& on_message) = 0;
  virtual size_t max_message_bytes() const = 0;
  // For people: "NOTIFY", "redis://127.0.0.1:6379".
  virtual std::string name() const = 0;
};

}  // namespace weir
