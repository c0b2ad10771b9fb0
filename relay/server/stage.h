// The protocol that a socket speaks: HTTP, later perhaps WebSocket. A Session has one stage and tells it what happens.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "relay/account/work.h"
#include "relay/server/server_core.h"

namespace weir {

class Stage {
 public:
  virtual ~Stage() = default;

  // Called when there are bytes in the stream's piece, the input has ended, or the session's turn was over at the last
  // call. Returns when the turn is over; what is left is for the next call.
  virtual void OnInput() = 0;
  // Called when all output was sent: writes more, if there is more. Returns what that cost.
  virtual Work Produce() { return 0; }
  // Called after a flush, whether or not all output was sent.
  virtual void OnSent() {}
  // Output that is not in the stream yet.
  virtual size_t queued_bytes() const { return 0; }
  // Input that is kept from turn to turn. OnTooMuchHeld is called if the client's address holds too much.
  virtual size_t held_bytes() const { return 0; }
  virtual void OnTooMuchHeld() {}
  // The same, with the rest of a message that was begun, if the stage can wait: nothing more is read until there is
  // room for all of it. If it cannot, OnTooMuchHeld is called at once.
  virtual std::optional<size_t> whole_bytes() const { return std::nullopt; }
  virtual void OnTick(SteadyTime now) = 0;
  virtual void OnShutdown() = 0;
  // Memory is short: gives back what it can, says why, and ends. Returns false if the session is to end here and now.
  virtual bool OnGiveUp(std::string_view) { return false; }
  // The last call.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
