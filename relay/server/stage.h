// What a socket is at the moment: HTTP, later perhaps a WebSocket. A Session has one and tells it what happens.
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

  // There are bytes in the stream's piece, or the input has ended, or the session's turn was over at the last call.
  // Returns when the turn is over; what is left is for the next call.
  virtual void OnInput() = 0;
  // All output was sent: write more, if there is more. Returns what that cost.
  virtual Work Produce() { return 0; }
  // After a flush, whether or not all went out.
  virtual void OnSent() {}
  // Output that is not in the stream yet.
  virtual size_t queued_bytes() const { return 0; }
  // Input that is kept from turn to turn, and what is done where the client's address holds too much.
  virtual size_t held_bytes() const { return 0; }
  virtual void OnTooMuchHeld() {}
  // With what is to come of a message that was begun, where the stage can wait: nothing more is read until there is
  // room for all of it. Where it cannot, OnTooMuchHeld is called at once.
  virtual std::optional<size_t> whole_bytes() const { return std::nullopt; }
  virtual void OnTick(SteadyTime now) = 0;
  virtual void OnShutdown() = 0;
  // Memory is short: gives back what it can, says why, and ends. False: the session is to end here and now.
  virtual bool OnGiveUp(std::string_view) { return false; }
  // The last call.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
