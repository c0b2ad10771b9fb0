// Requests whose body comes, and whose answer goes, in pieces: uploads and downloads of any size in bounded memory.
//
// Neither max_http_body_bytes nor handshake_timeout applies. A client that for twice the ping interval sends nothing of
// its body, or takes nothing of the output that waits for it, is dropped (in the first case with 408, if no answer has
// begun). An answer may end before the body: the rest of the body is not read.
//
// Over HTTP/1.1 an exchange has its connection alone, which closes after it. A client that closes its half while it
// waits for the answer to a GET counts as gone, because one that has closed the whole looks the same. Over HTTP/2 an
// exchange is one stream of many. The end of the client is then the end of the stream, and to be dropped is to be
// reset.
//
// Everything runs on the I/O thread of the connection. Other threads, and code that is to run on a later turn, use a
// poster().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Calls `task` on the I/O thread of an exchange, on a later turn, in the order of the posts; never once the exchange
// has ended (End, Abort, OnEnd). An exception from a task counts as one from the handler. A poster may be used from any
// thread and at any time, even when exchange, connection and server are gone: it keeps none of them alive.
using HttpPoster = std::function<void(std::function<void()> task)>;

class HttpExchange {
 public:
  // While no more than this waits, a piece of any size may be written.
  static constexpr size_t kAlwaysTaken = size_t{64} << 10;

  virtual ~HttpExchange() = default;

  // A copy of it may be kept for any time.
  virtual HttpPoster poster() = 0;
  // For timers. If a function that is posted here throws, that is logged, and the exchange goes on without it: use the
  // poster.
  virtual boost::asio::any_io_executor executor() = 0;

  // Begin, Write and EndWith send the answer: its head once (the body of `head` is its first piece), pieces as they
  // come, and the end with trailers. HTTP/1.1 sends it in chunks, HTTP/1.0 until the connection closes and without
  // trailers. The answer may begin before the request's body has ended. No function may be called after OnEnd.
  virtual void Begin(const HttpResponse& head) = 0;
  virtual void Write(std::string_view piece) = 0;
  void End() { EndWith({}); }
  virtual void EndWith(HttpFields trailers) = 0;
  // Drops the client without the end of the answer, so that it sees that the answer is not whole; logged with the
  // cause. OnEnd follows, on a later turn.
  virtual void Abort(std::string cause) = 0;

  // Bytes written and not yet taken by the socket; over HTTP/2, which has the client's window, by the connection. Write
  // does not bound them, so look before you write. If more than max_pending_bytes wait, or more than the client's share
  // of what may wait for all, another Write drops the client as too slow; but never while at most kAlwaysTaken wait. So
  // wait until no more waits (WhenPendingBelow), and write one piece, whatever its size. A client that reads fast never
  // lets anything wait: write a piece or two a turn (WhenPendingBelow), or the thread's other connections starve.
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once, on a later turn, when pending_bytes() is at most `bytes`; not after OnEnd.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // While paused nothing is read from the socket, and the client's end is not noticed. Over HTTP/2 its end is noticed,
  // and it may send no more than the 64 KiB of its window. A pause takes effect with the next piece, but OnBodyEnd may
  // still come. Pauses are counted.
  virtual void PauseBody() = 0;
  virtual void ResumeBody() = 0;
};

// Kept alive until OnEnd has returned; other owners may keep it longer. An exception from it is logged, and answered
// with 500 if no answer has begun; else the connection is dropped.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;

  // The body as it comes: the cuts between pieces have no meaning. The view is valid during the call. Must not block.
  virtual void OnBody(std::string_view piece) = 0;
  virtual void OnBodyEnd() = 0;
  // The server shuts down: end the answer soon.
  virtual void OnShutdown() = 0;
  // The last call, once, whatever the cause: the answer was written, or the client is gone.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
