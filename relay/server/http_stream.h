// HTTP requests whose body comes, and whose answer goes, in pieces: uploads and downloads of any size in bounded
// memory. HttpRouter::AddStream (http.h) adds a factory that makes an HttpStreamHandler for each such request. The
// server calls the handler with what the client sends; the handler answers through the HttpExchange.
//
// Everything runs on the I/O thread of the connection. Other threads, and code that shall run later on the same thread,
// use a poster().
//
// The body may have any length (max_http_body_bytes does not apply) and take any time. But the server drops a client
//
//  * that sends nothing of the body for twice the ping interval, although the body has not ended and is not paused (the
//    client gets 408, if the answer has not begun),
//  * that takes nothing of the output that waits for it for twice the ping interval, paused or not,
//  * that takes nothing from its connection for handshake_timeout, over HTTP/1.1 only once the answer has ended; while
//    the server shuts down, a second is enough,
//  * that lets too much output wait (pending_bytes),
//  * over HTTP/2, that does not answer pings, or whose address holds too much memory (max_address_mb) while a part of a
//    paused body waits.
//
// To drop a client means: over HTTP/1.1 the connection is closed; over HTTP/2 the stream is reset, or the connection is
// closed if the fault is the connection's. A client that has a part of the answer can see that it is not whole. OnEnd
// follows.
//
// A client is gone when its connection has ended, or over HTTP/2 when it has reset the stream. The server also drops a
// client that closes only its sending half of the connection: over HTTP/1.1 if the request is a GET or a HEAD, because
// such a client looks the same as one that has closed the whole connection, or if the body has not ended; over HTTP/2
// always. Otherwise such a client still gets its answer.
//
// Over HTTP/1.1 an exchange has the connection for itself: requests that were sent ahead are dropped, and the
// connection is closed after the answer. Over HTTP/2 an exchange is one stream among many.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Calls `task` on the I/O thread of an exchange: after the poster has returned, and in the order of the posts. Once the
// exchange has ended (End, Abort, OnEnd, or the client was dropped), tasks are dropped without a call. An exception
// from a task counts as one from the handler. A poster may be used on any thread and at any time, even when exchange,
// connection and server are gone: it keeps none of them alive.
using HttpPoster = std::function<void(std::function<void()> task)>;

// The means to answer one request and to control its body. It is valid from the call of the factory until OnEnd has
// returned; the factory may use it already. Call its functions on the I/O thread. After End, after Abort and after the
// server has dropped the client, they have no effect.
class HttpExchange {
 public:
  // While no more bytes than this wait (pending_bytes), Write never drops the client, whatever the size of the piece.
  static constexpr size_t kAlwaysTaken = size_t{64} << 10;

  virtual ~HttpExchange() = default;

  // Returns a poster for this exchange, which may be copied and kept for any time.
  virtual HttpPoster poster() = 0;
  // Returns the executor of the I/O thread, for timers. Use the poster to run code: functions that are run here may run
  // after OnEnd, and if one throws, that is only logged and the exchange goes on.
  virtual boost::asio::any_io_executor executor() = 0;

  // Begins the answer: sends its status and headers, and `head`.body as the first piece of its body. Call it once,
  // before Write and EndWith. The answer may begin, and end, before the request's body has ended. The answer to a HEAD,
  // and one with status 204 or 304, has no body: Begin ends it.
  virtual void Begin(const HttpResponse& head) = 0;
  // Sends a piece of the answer's body, in order. The piece is copied. If too much waits already (pending_bytes), drops
  // the client instead, as too slow.
  virtual void Write(std::string_view piece) = 0;
  // Ends the answer; EndWith sends trailers, except over HTTP/1.0. Over HTTP/1.1 the body goes in chunks, over HTTP/1.0
  // it goes until the connection closes. Then the handler gets no more of the request's body. OnEnd follows later, not
  // within the call.
  void End() { EndWith({}); }
  virtual void EndWith(HttpFields trailers) = 0;
  // Ends the exchange and drops the client, so that the client sees that its answer is not whole. `cause` is logged,
  // and passed to OnEnd, which follows later, not within the call.
  virtual void Abort(std::string cause) = 0;

  // Returns the bytes that were written and have not been sent on: over HTTP/1.1 those that the socket has not taken,
  // over HTTP/2 those that wait for the client's flow-control window or for the connection.
  //
  // A handler has to look at them before it writes. Write drops the client as too slow if, without the new piece, more
  // than max_pending_bytes wait, or if all connections together let more than max_pending_total_mb wait and this one
  // more than an equal share of that; but never while at most kAlwaysTaken wait. So wait with WhenPendingBelow until at
  // most kAlwaysTaken wait, then write one piece, whatever its size. Do that even if the client takes everything at
  // once: a handler that writes on and on, without returning, keeps the thread from its other connections.
  //
  // Over HTTP/2 the server also closes a connection on which more than such a share waits, even if nothing is written.
  virtual size_t pending_bytes() const = 0;
  // Calls `callback` once, when pending_bytes() is at most `bytes`: on the I/O thread, never before WhenPendingBelow
  // has returned, even if that is so already. If the exchange ends first (End, Abort, OnEnd, a drop), `callback` is
  // dropped.
  virtual void WhenPendingBelow(size_t bytes, std::function<void()> callback) = 0;

  // PauseBody stops the calls of OnBody, at once; over HTTP/1.1 OnBodyEnd may still come, if the whole body is here.
  // While paused, a client that sends nothing is not dropped. Over HTTP/1.1 nothing is read from the socket then, so
  // the end of the client is not noticed. Over HTTP/2 it is noticed, and the client may send the 64 KiB of its window,
  // which wait here. Pauses are counted: the body goes on after as many calls of ResumeBody.
  virtual void PauseBody() = 0;
  virtual void ResumeBody() = 0;
};

// Handles one request. The server keeps it alive until OnEnd has returned; other owners may keep it longer. An
// exception (std::exception) from OnBody, OnBodyEnd or OnShutdown is logged; the client gets 500 if the answer has not
// begun, else it is dropped. OnEnd must not throw.
class HttpStreamHandler {
 public:
  virtual ~HttpStreamHandler() = default;

  // Called for each piece of the body, as it comes: the cuts between pieces have no meaning. The view is valid during
  // the call. Must not block. Not called once the exchange has ended.
  virtual void OnBody(std::string_view piece) = 0;
  // Called once when the whole body has come, also if it is empty; not if the exchange has ended before.
  virtual void OnBodyEnd() = 0;
  // Called at most once, when the server shuts down or a client of HTTP/2 has announced that it will ask no more
  // (GOAWAY). The handler should end the answer soon.
  virtual void OnShutdown() = 0;
  // Called once, as the last call, whatever has ended the exchange: End, Abort, the client or the server. `cause` says
  // what. The call does not mean that the client has the whole answer. Over HTTP/1.1 it comes soon after End, while
  // output may still wait; over HTTP/2 when the stream is closed, which a slow client can delay.
  virtual void OnEnd(std::string_view cause) = 0;
};

}  // namespace weir
