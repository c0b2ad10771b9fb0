// Stage: the protocol that a connection speaks at the moment. This is HTTP/1.1 at first (http_stage.h), later perhaps
// WebSocket or HTTP/2. A Session (session.h) has one stage at a time, and calls its functions on the I/O thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "relay/account/work.h"
#include "relay/net/server_core.h"

namespace weir {

class Stage {
 public:
  virtual ~Stage() = default;

  // Called when the stream has input (BufferedStream::piece), when the input has ended, when the last call has returned
  // because the turn was over, after Session::ProcessSoon, and when the stage has replaced another. There may be no
  // work to do. Consumes the input that it uses. Works until no work is left or Session::turn_is_over() is true; the
  // next call does the rest.
  virtual void OnInput() = 0;
  // Called when the stream has no output to send. Writes more output into the stream, if the stage has more. Returns
  // the work that it did.
  virtual Work Produce() { return 0; }
  // Called after the session has tried to send output, whether or not the socket took all of it.
  virtual void OnSent() {}
  // Returns the bytes of memory that the stage's output takes until the stage has written it into the stream.
  virtual size_t queued_bytes() const { return 0; }
  // Returns the number of bytes of input that the stage keeps from turn to turn. The session counts them in the
  // client's account.
  virtual size_t held_bytes() const { return 0; }
  // Called when the client's address holds too much memory. The stage should drop its input and refuse the request.
  virtual void OnTooMuchHeld() {}
  // Returns nullopt if the stage cannot wait until the client's account has room; the session then calls OnTooMuchHeld
  // when there is no room for held_bytes(). Otherwise returns the length of the whole unfinished message, as far as it
  // is known. The session then counts these bytes, and reads no more input until the account has room for them. The
  // stage must call Session::TakeRoom before it uses more of the input that was read already.
  virtual std::optional<size_t> whole_bytes() const { return std::nullopt; }
  // Called at least once a second. The stage ends requests and connections that take too long.
  virtual void OnTick(SteadyTime now) = 0;
  // Called once, when the server shuts down. A stage that is made during the shutdown gets no call; it must check
  // ServerCore::going.
  virtual void OnShutdown() = 0;
  // Called when memory is short and the client's address holds more memory than any other; the text is the reason for
  // the client. Returns true if the stage itself frees memory, sends the reason and ends the session. If it returns
  // false, the session ends at once.
  virtual bool OnGiveUp(std::string_view) { return false; }
  // Called once, as the last call, when the session ends. Not called for a stage that SetStage replaces.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
