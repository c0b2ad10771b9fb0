// What a socket is at the moment: HTTP, later perhaps a WebSocket. A Session has one and tells it what happens.
#pragma once

#include <cstddef>
#include <string_view>

#include "relay/server/server_core.h"

namespace weir {

class Stage {
 public:
  virtual ~Stage() = default;

  // There are bytes in the stream's piece, or the input has ended. What is left in the piece is for the next call.
  virtual void OnInput() = 0;
  // All output was sent: write more, if there is more.
  virtual void Produce() {}
  // After a flush, whether or not all went out.
  virtual void OnSent() {}
  // Output that is not in the stream yet.
  virtual size_t queued_bytes() const { return 0; }
  virtual void OnTick(SteadyTime now) = 0;
  virtual void OnShutdown() = 0;
  // The last call.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
