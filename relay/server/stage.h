// Stage: the protocol that a connection speaks at the moment. This is HTTP/1.1 at first (http_stage.h), later perhaps
// WebSocket or HTTP/2. A Session (session.h) has one stage at a time, and calls its functions on the I/O thread.
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

  // Called when there is input in the stream's piece (BufferedStream::piece), when the input has ended, when the
  // session's turn was over at the last call, after Session::ProcessSoon, and as the first call of a new stage. There
  // may be no work to do. Consumes the input that it uses. Returns when no work is left, or when
  // Session::turn_is_over() is true; the next call does the rest.
  virtual void OnInput() = 0;
  // Called when all output in the stream was sent. Writes more output into the stream, if there is more. Returns the
  // work that it did.
  virtual Work Produce() { return 0; }
  // Called after the session has tried to send, whether or not all output was sent.
  virtual void OnSent() {}
  // Returns the bytes of output that are not in the stream yet.
  virtual size_t queued_bytes() const { return 0; }
  // Returns the bytes of input that the stage keeps from turn to turn. The session counts them for the client's
  // address.
  virtual size_t held_bytes() const { return 0; }
  // Called when the client's address holds too much memory. The stage should refuse the input and drop it.
  virtual void OnTooMuchHeld() {}
  // Returns nullopt if the stage cannot wait for room; OnTooMuchHeld is then called as soon as the address has no room
  // for held_bytes. Otherwise returns the bytes of the whole unfinished message, as far as its length is known. The
  // session then counts these bytes, and reads no more until the address has room for them; the stage calls
  // Session::TakeRoom before it uses more of the input that was read already.
  virtual std::optional<size_t> whole_bytes() const { return std::nullopt; }
  // Called at regular intervals, at least once a second. Ends requests and connections that take too long.
  virtual void OnTick(SteadyTime now) = 0;
  // Called once, when the server shuts down. A stage that is made later must check ServerCore::going instead.
  virtual void OnShutdown() = 0;
  // Called when memory is short and the client's address holds the most; the text is the reason for the client. Returns
  // true if the stage frees memory, sends the reason and ends the session itself. If it returns false, the session ends
  // at once.
  virtual bool OnGiveUp(std::string_view) { return false; }
  // Called once, as the last call, when the session ends. Not called for a stage that SetStage replaces.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
