#include "relay/net/stream_stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/error.hpp>
#include <cassert>
#include <charconv>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/net/exchange_tasks.h"
#include "relay/net/http_message.h"
#include "relay/net/http_stream.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/output_waiters.h"
#include "relay/net/session.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

static_assert(HttpExchange::kAlwaysTaken == Session::kLeastShare);

class StreamStage final : public Stage, public HttpExchange {
 public:
  StreamStage(Session& session, RequestParser&& parser, HttpRequest head);
  void Ask(const HttpStreamFactory& factory);

  HttpPoster poster() override { return tasks_.poster(); }
  asio::any_io_executor executor() override { return session_.thread().context().get_executor(); }
  void Begin(const HttpResponse& head) override;
  void Write(std::string_view piece) override;
  void EndWith(HttpFields trailers) override;
  void Abort(std::string cause) override;
  size_t pending_bytes() const override { return session_.stream().output_bytes(); }
  void WhenPendingBelow(size_t bytes, std::function<void()> callback) override {
    waiters_.Add(pending_bytes(), bytes, std::move(callback));
  }
  void PauseBody() override { session_.PauseReading(); }
  void ResumeBody() override { session_.ResumeReading(); }

  void OnInput() override;
  void OnSent() override { waiters_.OnSent(pending_bytes()); }
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  void Parse();
  void OnPiece(std::string_view piece);
  void OnMalformed(const error_code& error);
  void OnInputEnd();
  void AppendPiece(std::string_view piece);
  void EndAnswer();
  void Drop(std::string cause);
  void ResetAtClose(bool on);
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

  Session& session_;
  ServerCore& core_;
  ThreadCounters& counters_;
  const HttpRequest head_;
  const bool chunked_;  // true if the answer is sent in chunks; else it ends when the connection closes
  const bool asked_to_continue_;
  RequestBody body_;
  ExchangeTasks tasks_;
  OutputWaiters waiters_;
  std::shared_ptr<HttpStreamHandler> handler_;
  int status_ = 0;  // the status of the answer; 0 if the answer has not begun
  bool body_ended_ = false;
  bool told_to_finish_ = false;
};

StreamStage::StreamStage(Session& session, RequestParser&& parser, HttpRequest head)
    : session_(session),
      core_(session.thread().core()),
      counters_(session.thread().counters()),
      head_(std::move(head)),
      chunked_(parser.get().version() >= 11),
      asked_to_continue_(chunked_ && !parser.is_done() && AsksToContinue(parser.get())),
      body_(std::move(parser), [this](std::string_view piece) { OnPiece(piece); }),
      tasks_(session, [this](const std::function<void()>& task) { Call(task); }),
      waiters_([this](std::function<void()> callback) { tasks_.Post(std::move(callback)); }) {}

void StreamStage::Ask(const HttpStreamFactory& factory) {
  std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>> taken;
  try {
    taken = factory(head_, *this);
  } catch (const std::exception& e) {
    return OnFault(e.what());
  }
  if (const auto* refusal = std::get_if<HttpResponse>(&taken))
    return AnswerUnread(session_, *refusal, head_.method != "HEAD");
  handler_ = std::get<std::shared_ptr<HttpStreamHandler>>(std::move(taken));
  if (session_.ended()) return;
  if (asked_to_continue_ && status_ == 0) session_.stream().Append("HTTP/1.1 100 Continue\r\n\r\n");
  if (core_.going.load(std::memory_order_relaxed)) OnShutdown();
}

void StreamStage::Begin(const HttpResponse& head) {
  if (session_.ended()) return;
  assert(status_ == 0);
  status_ = head.status;
  session_.stream().Append(SerializeHead(head, chunked_));
  if (!chunked_) ResetAtClose(true);
  if (head_.method == "HEAD" || !HasBody(head)) return EndAnswer();
  AppendPiece(head.body);
}

void StreamStage::Write(std::string_view piece) {
  if (session_.ended()) return;
  assert(status_ != 0);
  // Checks the bytes that wait already, without this piece, so a handler that checks pending_bytes() is never too slow.
  EndIfTooSlow();
  if (!session_.ended()) AppendPiece(piece);
}

void StreamStage::AppendPiece(std::string_view piece) {
  BufferedStream& stream = session_.stream();
  // An empty chunk would end the answer.
  if (!piece.empty() && chunked_) {
    char size[16];
    const auto end = std::to_chars(size, size + sizeof size, piece.size(), 16).ptr;
    stream.Append({size, end});
    stream.Append("\r\n");
  }
  stream.Append(piece);
  if (!piece.empty() && chunked_) stream.Append("\r\n");
  if (stream.output_bytes() >= kPieceBytes && !session_.blocked()) return session_.Flush();
  session_.NotePending();
  session_.FlushSoon();
}

void StreamStage::EndWith(HttpFields trailers) {
  if (session_.ended()) return;
  assert(status_ != 0);
  if (chunked_) {
    std::string end = "0\r\n";
    for (const auto& [name, value] : trailers) end.append(name).append(": ").append(value).append("\r\n");
    session_.stream().Append(end + "\r\n");
  }
  EndAnswer();
}

void StreamStage::Abort(std::string cause) {
  if (session_.ended()) return;
  if (const auto line = core_.logs.fault.Take(session_.thread().Now())) {
    spdlog::warn("{}: {} {} broken off: {}{}", head_.address, Printable(head_.method), Printable(head_.path),
                 AsText(cause), line->Suffix());
  }
  Drop(std::move(cause));
}

// Ends the session. Output in chunks may still be sent, because the client sees that the last chunk is missing.
void StreamStage::Drop(std::string cause) {
  if (chunked_) return session_.EndAfterOutput(std::move(cause), Session::Then::kLinger);
  session_.End(std::move(cause));
}

// Makes the close of the socket a reset, if `on`. For an answer that ends when the connection closes, only a reset
// shows that the answer was not whole.
void StreamStage::ResetAtClose(bool on) {
  error_code ignored;
  session_.stream().socket().set_option(asio::socket_base::linger(on, 0), ignored);
}

void StreamStage::EndAnswer() {
  if (!chunked_) ResetAtClose(false);
  session_.EndAfterOutput("answered " + std::to_string(status_), Session::Then::kLinger);
}

void StreamStage::OnInput() {
  Parse();
  if (session_.ended()) return;
  if (body_.done()) {
    if (!std::exchange(body_ended_, true)) Call([this] { handler_->OnBodyEnd(); });
    // Drops requests that were sent ahead, because the connection ends with this request.
    session_.stream().Consume(session_.stream().piece().size());
  }
  if (session_.input_ended() && session_.stream().piece().empty() && !session_.ended()) OnInputEnd();
}

void StreamStage::Parse() {
  BufferedStream& stream = session_.stream();
  while (!session_.ended() && !session_.paused() && !body_.done() && !stream.piece().empty()) {
    if (session_.turn_is_over()) return;
    error_code error;
    const size_t bytes = body_.Put(stream.piece(), error);
    stream.Consume(bytes);
    session_.Charge(kFrameWork + bytes);
    if (error) return OnMalformed(error);
  }
}

void StreamStage::OnPiece(std::string_view piece) {
  Call([&] { handler_->OnBody(piece); });
}

void StreamStage::OnMalformed(const error_code& error) {
  if (session_.ended()) return;
  const HttpResponse answer = AnswerToMalformed(error, core_.settings.max_http_body_bytes);
  if (status_ == 0) return RefuseRequest(session_, counters_.http_errors, answer, error.message());
  counters_.http_errors.Add(1);
  Drop("not well-formed: " + error.message());
}

// Drops the client if it seems to have left. A client with a body may close its sending half to end the body, and wait
// for the answer. A client that only reads has no body to end, so the closed half means that it has left; while there
// is nothing to write, no other sign would show that.
void StreamStage::OnInputEnd() {
  const error_code error = session_.stream().input_error();
  if (error != asio::error::eof) return session_.End("connection lost: " + error.message());
  const bool only_reads = head_.method == "GET" || head_.method == "HEAD";
  if (only_reads || !body_.done()) Drop("the client hung up");
}

void StreamStage::EndIfTooSlow() {
  const uint64_t most = std::max<uint64_t>(core_.settings.max_pending_bytes, kAlwaysTaken);
  const auto too_much = [&] { return pending_bytes() > most || session_.OverShare(); };
  if (!too_much()) return;
  if (!session_.blocked()) session_.FlushWhole();
  if (!session_.ended() && too_much()) EndTooSlow();
}

void StreamStage::EndTooSlow() {
  counters_.too_slow.Add(1);
  if (const auto line = core_.logs.too_slow.Take(session_.thread().Now())) {
    spdlog::info("{}: disconnected, too slow: {} bytes waited for it{}", head_.address, pending_bytes(),
                 line->Suffix());
  }
  session_.End("too slow");
}

void StreamStage::OnTick(SteadyTime now) {
  if (tasks_.has_lost_one()) return OnFault(kTaskLost);
  const auto longest = 2 * core_.settings.ping_interval;
  if (session_.blocked() && now > session_.last_sent() + longest) return EndTooSlow();
  if (body_ended_ || session_.paused() || now <= session_.last_heard() + longest) return;
  constexpr std::string_view kWhat = "no more of the body in time";
  if (status_ != 0) {
    counters_.http_errors.Add(1);
    return Drop(std::string(kWhat));
  }
  RefuseRequest(session_, counters_.http_errors, {.status = 408, .body = "the body did not come in time\n"}, kWhat);
}

void StreamStage::OnShutdown() {
  if (!std::exchange(told_to_finish_, true)) Call([this] { handler_->OnShutdown(); });
}

void StreamStage::OnFault(std::string_view what) {
  const HttpResponse answer = AnswerToFault(head_, what);
  if (session_.ended()) return;
  if (status_ != 0) return Drop("a fault in the server");
  AnswerUnread(session_, answer, head_.method != "HEAD");
}

void StreamStage::OnEnd(std::string_view cause) {
  spdlog::debug("{}: {} {} ended: {}", head_.address, Printable(head_.method), Printable(head_.path), cause);
  tasks_.End();
  waiters_.Clear();
  if (handler_) handler_->OnEnd(cause);
}

}  // namespace

std::unique_ptr<Stage> MakeStreamStage(Session& session, RequestParser&& parser, HttpRequest head,
                                       const HttpStreamFactory& factory) {
  auto stage = std::make_unique<StreamStage>(session, std::move(parser), std::move(head));
  stage->Ask(factory);
  return stage;
}

}  // namespace weir
