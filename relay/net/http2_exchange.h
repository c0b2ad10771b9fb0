// Http2Exchange: an HttpExchange (http_stream.h) over one stream of HTTP/2. The answer waits here until the client's
// flow-control windows have room for it; the request's body waits here while the handler has paused it.
//
// All functions run on the connection's I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/net/exchange_tasks.h"
#include "relay/net/http2_frames.h"
#include "relay/net/http_stream.h"
#include "relay/net/output_waiters.h"
#include "relay/net/server_core.h"

namespace weir {

class Session;

// Counts of bytes that wait in all exchanges of one connection.
struct Http2ExchangeBytes {
  size_t pending = 0;  // bytes of answers that wait to be sent
  size_t held = 0;     // bytes of requests' bodies that wait for their handlers
};

// The objects that an exchange uses. They must outlive the exchange.
struct Http2ExchangeParts {
  Session& session;
  Http2Frames& frames;
  Http2ExchangeBytes& all;  // the counts to which the exchange adds its bytes
  Http2Body& answer;        // the body of the stream's answer
  int32_t id;               // the stream's number
};

class Http2Exchange final : public HttpExchange {
 public:
  Http2Exchange(const Http2ExchangeParts& parts, HttpRequest head);
  ~Http2Exchange() override;

  // Calls the factory, which makes the handler; returns nullopt. If the factory refuses the request, returns the answer
  // to send, and the caller must destroy the exchange. If the factory throws, answers 500 and returns nullopt.
  std::optional<HttpResponse> Ask(const HttpStreamFactory& factory);

  HttpPoster poster() override { return tasks_.poster(); }
  boost::asio::any_io_executor executor() override;
  void Begin(const HttpResponse& head) override;
  void Write(std::string_view piece) override;
  void EndWith(HttpFields trailers) override;
  void Abort(std::string cause) override;
  size_t pending_bytes() const override { return parts_.answer.rest(); }
  void WhenPendingBelow(size_t bytes, std::function<void()> callback) override {
    waiters_.Add(pending_bytes(), bytes, std::move(callback));
  }
  void PauseBody() override { ++pauses_; }
  void ResumeBody() override;

  // The stage (http2_stage.h) calls the functions below.

  // Returns true if the answer has ended or the exchange was dropped. The exchange then calls no function of the
  // handler except OnEnd.
  bool is_over() const { return over_; }
  // OnBody takes a piece of the request's body, OnBodyEnd its end. Must be called only while the exchange is not over.
  void OnBody(std::string_view piece);
  void OnBodyEnd();
  // Drops the part of the body that waits here. Called when the exchange is over.
  void DropHeld();
  // Called when `bytes` of the answer have moved to the connection's output.
  void OnSent(size_t bytes);
  // Called by the stage's own OnTick.
  void OnTick(SteadyTime now);
  // Called when the server shuts down or the client has sent GOAWAY.
  void OnShutdown();
  // Called when the client's address holds too much memory. Ends the exchange if a part of its body waits here.
  void OnTooMuchHeld();
  // Ends the exchange, and resets the stream with `code`.
  void Drop(std::string cause, Http2Code code);
  // Called last, once, when the stream is closed or its connection has ended.
  void OnEnd(std::string_view cause);

 private:
  void HandOver(std::string_view piece);
  void HandOverHeld();
  void Append(std::string_view piece);
  void AnswerWhole(HttpResponse response);
  void EndAnswer();
  void EndIfTooSlow();
  void EndTooSlow();
  void OnFault(std::string_view what);

  template <typename Function>
  void Call(Function function) {
    try {
      function();
    } catch (const std::exception& e) {
      OnFault(e.what());
    }
  }

  const Http2ExchangeParts parts_;
  ServerCore& core_;
  ThreadCounters& counters_;
  const HttpRequest head_;
  ExchangeTasks tasks_;
  OutputWaiters waiters_;
  std::shared_ptr<HttpStreamHandler> handler_;
  std::string held_;       // the part of the body that waits; at most the stream's window
  std::string cause_;      // the cause of the end; empty if the exchange has not ended, or if the client ended it
  SteadyTime last_heard_;  // the time at which a piece of the body last came
  SteadyTime last_taken_;  // the time at which a part of the answer was last taken, or began to wait
  int status_ = 0;         // the status of the answer; 0 if the answer has not begun
  uint32_t pauses_ = 0;
  bool body_ended_ = false;
  bool told_body_end_ = false;
  bool told_to_finish_ = false;
  bool reset_ = false;
  bool over_ = false;  // see is_over
};

}  // namespace weir
