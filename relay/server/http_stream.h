// Requests whose body comes, and whose answer goes, in pieces: uploads and downloads of any size in bounded memory.
//
// Neither max_http_body_bytes nor handshake_timeout applies. A client that sends nothing of its body, or takes nothing
// of what waits for it, for twice the ping interval is let go (the first with 408, where nothing was answered). An
// answer may end before the body: what comes then is not read.
//
// Over HTTP/1.1 an exchange has its connection alone, which closes after it; a client that closes its half while it
// waits for the answer to a GET counts as gone, as one that has closed the whole looks the same. Over HTTP/2 it is one
// stream of many, and what is said here of the client's end is so of the stream's: to be let go is to be reset.
//
// All on the I/O thread of the connection. Other threads, and whatever is to happen on a later turn, use a poster().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Has something called on the I/O thread of an exchange, on a later turn, in the order of the calls; never once the
// exchange has ended (End, Abort, OnEnd). What it throws is a fault of the exchange, as of its handler. From any thread
// and at any time, also when exchange, connection and server are gone: it keeps none of them alive.
using HttpPoster = std::function<void(std::function<void()> task)>;

class HttpExchange {
 public:
  // With up to so much waiting, a piece of any size may be written.
  static constexpr size_t kAlwaysTaken = size_t{64} << 10;

  virtual ~HttpExchange() = default;

  // A copy of it may be kept for as long as one likes.
  virtual HttpPoster poster() = 0;
  // For timers. What is thrown in a thing posted here is logged, and the exchange goes on without it: use the poster.
  virtual boost::asio::any_io_executor executor() = 0;

  // The answer: its head once (the body of `head` is its first piece), pieces as they come, and the end with trailers;
  // over HTTP/1.1 in chunks, over 1.0 until the connection closes and without trailers. May begin before the request's
  // body has ended. After OnEnd nothing may be called.
  virtual void Begin(const HttpResponse& head) = 0;
  virtual void Write(std::string_view piece) = 0;
  void End() { EndWith({}); }
  virtual void EndWith(HttpFields trailers) = 0;
  // Lets the client go without the end of the answer, so that it sees that it is not whole; logged with the cause.
  // OnEnd follows, on a later turn.
  virtual void Abort(std::string cause) = 0;

  // Written and not yet taken by the socket; over HTTP/2, where the client's window is, by the connection. Write does
  // not bound it: look before you write. Who writes on top of more than max_pending_bytes, or of more than its share of
  // what may wait for all, is too slow; never with up to kAlwaysTaken: so wait until there is no more
  // (WhenPendingBelow) and write one piece, whatever its size. A client that reads fast never lets anything wait: write
  // a piece or two a turn (WhenPendingBelow), or the thread's other connections starve.
  virtual size_t pending_bytes() const = 0;
  // Calls once, on a later turn, when pending_bytes() is at most `bytes`; not after OnEnd.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // While paused nothing is read from the socket, nor is the client's end noticed; over HTTP/2 the client may send no
  // more than the 64 KiB of its window, and its end is. Takes effect with the next piece, but OnBodyEnd may still come.
  // Counted.
  virtual void PauseBody() = 0;
  virtual void ResumeBody() = 0;
};

// Kept alive until OnEnd has returned, longer by whoever else shares it. What it throws is logged, and answered with
// 500 where nothing was answered yet; else the connection is dropped.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;

  // As it comes: pieces have no meaning. The view is good during the call. Must not block.
  virtual void OnBody(std::string_view piece) = 0;
  virtual void OnBodyEnd() = 0;
  // The server is going: end the answer soon.
  virtual void OnShutdown() = 0;
  // The last call, once, whatever the cause: the answer was written, or the client is gone.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
