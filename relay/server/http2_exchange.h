// An HttpExchange that is one stream of HTTP/2: its answer waits for the windows, and its body waits while it is
// paused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/server/exchange_tasks.h"
#include "relay/server/http2_frames.h"
#include "relay/server/http_stream.h"
#include "relay/server/output_waiters.h"
#include "relay/server/server_core.h"

namespace weir {

class Session;

// The bytes of all exchanges of one connection.
struct Http2ExchangeBytes {
  size_t pending = 0;  // answers that wait
  size_t held = 0;     // bodies that are paused
};

// All of these outlive the exchange.
struct Http2ExchangeParts {
  Session& session;
  Http2Frames& frames;
  Http2ExchangeBytes& all;
  Http2Body& answer;
  int32_t id;
};

class Http2Exchange final : public HttpExchange {
 public:
  Http2Exchange(const Http2ExchangeParts& parts, HttpRequest head);
  ~Http2Exchange() override;

  // Returns the answer that refuses the request, if there is one: the exchange is over then.
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

  // The functions below are called by the stage.
  bool is_over() const { return over_; }
  void OnBody(std::string_view piece);
  void OnBodyEnd();
  // Drops the held part of a body that it takes no more.
  void DropHeld();
  void OnSent(size_t bytes);
  void OnTick(SteadyTime now);
  void OnShutdown();
  // The client's address holds too much: ends an exchange that holds a part of its body.
  void OnTooMuchHeld();
  void Drop(std::string cause, Http2Code code);
  // The last call: the stream is closed, or its connection has ended.
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
  std::string held_;       // part of the body; bounded by the stream's window
  std::string cause_;      // why it ended, if not by the client
  SteadyTime last_heard_;  // when some of the body came
  SteadyTime last_taken_;  // when some of the answer was taken, or began to wait
  int status_ = 0;         // the answer's, when it has begun
  uint32_t pauses_ = 0;
  bool body_ended_ = false;
  bool told_body_end_ = false;
  bool told_to_finish_ = false;
  bool reset_ = false;
  bool over_ = false;  // the handler hears of nothing more but the end
};

}  // namespace weir
