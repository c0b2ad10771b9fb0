// HTTP exchanges in pieces, for uploads and downloads of any size in bounded memory: the body of the request is
// received, and the answer is sent, piece by piece. HttpRouter::AddStream (http.h) adds a factory that makes an
// HttpStreamHandler for each such request. The server calls the handler for each piece of the body; the handler answers
// through the HttpExchange.
//
// All functions run on the I/O thread of the connection. Other threads, and code that is to run later on the same
// thread, use a poster().
//
// The body may have any length (max_http_body_bytes does not apply) and take any time. But the server drops a client
//
//  * that sends nothing of the body for twice the ping interval, although the body has not ended and is not paused (if
//    the answer has not begun, the client gets 408),
//  * that takes nothing of the exchange's waiting output for twice the ping interval, whether the body is paused or
//    not,
//  * whose socket takes none of the connection's waiting output for handshake_timeout (over HTTP/1.1 only once the
//    answer has ended), or for a second while the server shuts down,
//  * that lets too much output wait (pending_bytes),
//  * that does not answer a ping, over HTTP/2,
//  * whose address holds too much memory (max_address_mb) while a part of a paused body waits, over HTTP/2 (if the
//    answer has not begun, the client gets 503),
//  * whose address holds more memory than any other while the program is short of memory.
//
// Over HTTP/1.1 the server drops a client by closing the connection. Over HTTP/2 it resets only the stream, but if the
// socket takes no output, if a ping is not answered, or if the program is short of memory, it closes the connection. A
// client that has received a part of the answer can see that the answer is not whole. After dropping a client, the
// server calls OnEnd.
//
// A client is gone when its connection has ended, or over HTTP/2 when it has reset the stream. A client may close only
// its sending half of the connection before the answer has ended. Over HTTP/2 the server always drops such a client.
// Over HTTP/1.1 it drops the client if the body has not ended, or if the request is a GET or a HEAD, because it cannot
// distinguish such a client from one that has closed the whole connection. Otherwise the client still gets its answer.
//
// Over HTTP/1.1 an exchange has the connection to itself: the server drops requests that the client sends after this
// one, and closes the connection after the answer. Over HTTP/2 an exchange is one stream among many.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "relay/net/http.h"

namespace weir {

// HttpPoster: calls `task` on the I/O thread of an exchange, after the poster has returned and in the order of the
// posts. Once the exchange has ended (End, Abort, OnEnd, or the client was dropped), drops tasks without calling them.
// An exception from a task counts as an exception from the handler. A poster may be used on any thread and at any time,
// even after exchange, connection and server have ended; it keeps none of them alive. It does not throw: if memory runs
// out, the task is lost, and the server ends the exchange within a second, as after an exception from the handler.
class HttpPoster {
 public:
  HttpPoster() = default;
  // `post` posts a task, and must not throw. It gets an empty function in place of a task that is lost.
  template <typename Post>
  HttpPoster(Post post) : post_(std::move(post)) {}

  template <typename Task>
  void operator()(Task&& task) const {
    std::function<void()> made;
    try {
      made = std::forward<Task>(task);
    } catch (const std::exception&) {  // no memory for the function
    }
    post_(std::move(made));
  }

 private:
  std::function<void(std::function<void()> task)> post_;
};

// HttpExchange: answers one request and controls its body. An exchange is valid from the call of the factory, which may
// use it already, until OnEnd has returned. Its functions must be called on the I/O thread. They have no effect after
// End, after Abort, and after the server has dropped the client.
class HttpExchange {
 public:
  // While at most this many bytes wait (pending_bytes), Write never drops the client, whatever the size of the piece.
  static constexpr size_t kAlwaysTaken = size_t{64} << 10;

  virtual ~HttpExchange() = default;

  // Returns a poster for this exchange, which may be copied and kept for any time.
  virtual HttpPoster poster() = 0;
  // Returns the executor of the I/O thread, for timers. To run code, use the poster: a function that is posted to the
  // executor may run after OnEnd, and if it throws, the exception is only logged and the exchange continues.
  virtual boost::asio::any_io_executor executor() = 0;

  // Begins the answer: sends its status and headers, and `head`.body as the first piece of its body. Call it once,
  // before Write and EndWith. The answer may begin, and end, before the request's body has ended. An answer without a
  // body, to a HEAD or with status 204 or 304, ends with Begin.
  virtual void Begin(const HttpResponse& head) = 0;
  // Sends the next piece of the answer's body. Copies the piece. If too many bytes wait already (pending_bytes), drops
  // the client instead, as too slow.
  virtual void Write(std::string_view piece) = 0;
  // End the answer; EndWith also sends trailers, except over HTTP/1.0. (Over HTTP/1.1 the body is sent in chunks; over
  // HTTP/1.0 it ends when the connection closes.) The handler then gets no more of the request's body. OnEnd follows
  // later, not within the call.
  void End() { EndWith({}); }
  virtual void EndWith(HttpFields trailers) = 0;
  // Ends the exchange and drops the client, so that the client sees that its answer is not whole. `cause` is logged,
  // and passed to OnEnd, which follows later, not within the call.
  virtual void Abort(std::string cause) = 0;

  // Returns the number of bytes that were written and still wait: over HTTP/1.1 for the socket to take them, over
  // HTTP/2 for the client's flow-control window, or for room in the connection's output.
  //
  // A handler has to check this number before it writes. Write drops the client as too slow if, without the new piece,
  // more than max_pending_bytes wait, or if more than max_pending_total_mb wait on all connections together and more
  // than an equal share of that on this connection. It never drops the client if at most kAlwaysTaken bytes wait. So
  // before each piece, whatever its size, a handler should wait with WhenPendingBelow until at most kAlwaysTaken bytes
  // wait. It should do so even if the client takes everything at once, because a handler that writes again and again
  // without returning keeps the thread from serving its other connections.
  //
  // Over HTTP/2 the server checks each connection regularly, too, even if nothing is written. It closes a connection if
  // more than max_pending_total_mb wait on all connections together, and on this one more than an equal share of that
  // and more than kAlwaysTaken.
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once on the I/O thread, after WhenPendingBelow has returned, when pending_bytes() is at most
  // `bytes`. If the exchange ends first (End, Abort, OnEnd, or the client was dropped), drops `callback`.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // PauseBody stops the calls of OnBody at once; over HTTP/1.1 OnBodyEnd may still be called, if the whole body has
  // come. While the body is paused, a client that sends nothing is not dropped. Over HTTP/1.1 the server then does not
  // read the socket, so it does not notice that the client has gone. Over HTTP/2 the server notices it, and the client
  // may send the 64 KiB of its window, which then wait in the exchange. The body resumes when ResumeBody has been
  // called as often as PauseBody.
  virtual void PauseBody() = 0;
  virtual void ResumeBody() = 0;
};

// HttpStreamHandler: handles one request. The server keeps the handler alive until OnEnd has returned; other owners may
// keep it longer. An exception (std::exception) from OnBody, OnBodyEnd or OnShutdown is logged; the client then gets
// 500 if the answer has not begun, else it is dropped. OnEnd must not throw.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;

  // Called for each piece of the body as it arrives; the lengths of the pieces have no meaning. The view is valid only
  // during the call. Must not block. Not called once the exchange has ended.
  virtual void OnBody(std::string_view piece) = 0;
  // Called once when the whole body has come, even if it is empty; not called if the exchange has ended before.
  virtual void OnBodyEnd() = 0;
  // Called at most once, when the server shuts down, or when a client of HTTP/2 has announced that it will send no more
  // requests (GOAWAY). The handler should end the answer soon.
  virtual void OnShutdown() = 0;
  // Called once, as the last call, when the exchange has ended by End, by Abort, by the client or by the server.
  // `cause` says how it ended. The client need not have the whole answer by then. Over HTTP/1.1 the call comes soon
  // after End, while output may still wait; over HTTP/2 it comes when the stream is closed, which a slow client can
  // delay.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
