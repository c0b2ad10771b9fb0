#include "relay/server/websocket_stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "config/parse.h"
#include "relay/server/io_thread.h"
#include "relay/server/output_waiters.h"
#include "relay/server/session.h"
#include "relay/server/turn_queue.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

// From Close until the peer has answered it, what was queued before included; as long as for a ping, where that is
// less.
constexpr std::chrono::milliseconds kCloseTimeout{5000};
// A longer message's buffer is given back when it was delivered.
constexpr size_t kKeptMessageBytes = 4096;

class WebSocketStage final : public Stage, public Connection {
 public:
  WebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client);
  ~WebSocketStage() override { session_.stream().DropRead(); }

  uint64_t id() const override { return id_; }
  const std::string& address() const override { return client_.address; }
  const std::string& host() const override { return client_.host; }
  uint64_t group() const override { return client_.group; }
  bool secure() const override { return client_.secure; }
  size_t io_thread() const override { return session_.thread().index(); }
  asio::any_io_executor executor() override { return session_.thread().context().get_executor(); }
  void Send(TextMessage message) override;
  size_t pending_bytes() const override { return queued_bytes_ + session_.stream().output_bytes(); }
  void WhenPendingBelow(size_t bytes, std::function<void()> callback) override {
    waiters_.Add(pending_bytes(), bytes, std::move(callback));
  }
  void PauseReading() override { session_.PauseReading(); }
  void ResumeReading() override { session_.ResumeReading(); }
  void Close(CloseCode code, std::string_view reason) override;

  void OnInput() override;
  void Produce() override;
  void OnSent() override { waiters_.OnSent(pending_bytes()); }
  size_t queued_bytes() const override { return queued_bytes_; }
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  void Accept(const BeastRequest& request);
  bool Step();
  void StartRead();
  void OnRead();
  void OnReadError();
  void StartClose();
  void EndIfTooSlow();
  void EndTooSlow();
  void NoteUnfinished();
  bool closing() const { return close_code_ != 0; }

  Session& session_;
  const uint64_t id_;
  const ClientIdentity client_;
  std::shared_ptr<ConnectionHandler> handler_;

  TurnQueue turn_;  // outlives ws_
  websocket::stream<BufferedStream&> ws_;
  boost::beast::flat_buffer message_;
  error_code read_error_;
  std::optional<SteadyTime> unfinished_since_;  // a message of which there is a part
  bool reading_ = false;
  bool read_done_ = false;
  bool in_input_ = false;
  bool delivered_ = false;  // since the last OnReadEnd
  bool pinged_ = false;
  bool over_ = false;  // Beast's stream has ended
  bool asked_to_finish_ = false;

  bool close_started_ = false;
  uint16_t close_code_ = 0;
  std::string close_reason_;
  SteadyTime since_;  // of the ping, or of the close

  std::deque<TextMessage> queue_;
  size_t queued_bytes_ = 0;
  OutputWaiters waiters_;
};

WebSocketStage::WebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client)
    : session_(session),
      id_(session.thread().core().next_id.fetch_add(1, std::memory_order_relaxed)),
      client_(std::move(client)),
      turn_(session.thread().context(),
            [this] {
              if (!in_input_) session_.ProcessSoon();
            }),
      ws_(session.stream()),
      waiters_(session) {
  Accept(request);
  session_.thread().counters().connections.Add(1);
  spdlog::debug("{}: connection {} opened", client_.address, id_);
  if (over_) return;
  try {
    handler_ = session_.thread().core().factory(*this);
  } catch (...) {
    session_.thread().counters().connections.Subtract(1);
    throw;
  }
  if (session_.thread().core().going.load(std::memory_order_relaxed)) OnShutdown();
}

void WebSocketStage::Accept(const BeastRequest& request) {
  const ServerSettings& settings = session_.thread().core().settings;
  ws_.set_option(websocket::stream_base::decorator(
      [](websocket::response_type& response) { response.set(boost::beast::http::field::server, "weir"); }));
  ws_.read_message_max(settings.max_message_bytes);
  ws_.auto_fragment(false);
  if (settings.compression) {
    // Without context takeover, and with windows of 4 KiB: about 40 KB a connection instead of some 300.
    websocket::permessage_deflate deflate;
    deflate.server_enable = true;
    deflate.server_max_window_bits = 12;
    // Beast declines a client that did not say that it can do with a smaller window.
    const std::string_view offer = request[boost::beast::http::field::sec_websocket_extensions];
    if (offer.find("client_max_window_bits") != offer.npos) deflate.client_max_window_bits = 12;
    deflate.server_no_context_takeover = true;
    deflate.client_no_context_takeover = true;
    deflate.compLevel = 3;
    deflate.memLevel = 4;
    deflate.msg_size_threshold = 256;
    ws_.set_option(deflate);
  }
  error_code error;
  ws_.accept(request, error);
  over_ = error.failed();
  if (!error) return;
  session_.thread().counters().handshake_failures.Add(1);
  session_.EndAfterOutput("handshake: " + error.message());
}

void WebSocketStage::OnInput() {
  in_input_ = true;
  while (!session_.ended() && Step()) continue;
  in_input_ = false;
  // Though the connection may have ended meanwhile: what was gathered before its end counts.
  if (std::exchange(delivered_, false)) handler_->OnReadEnd();
  NoteUnfinished();
  EndIfTooSlow();
}

// Part of a header, or empty fragments alone, do not count: they hold no memory, and pings hold the connection as well.
void WebSocketStage::NoteUnfinished() {
  if (!reading_ || (message_.size() == 0 && ws_.is_message_done())) {
    unfinished_since_.reset();
  } else if (!unfinished_since_) {
    unfinished_since_ = session_.last_heard();
  }
}

// One step of Beast's, each of which returns before the next begins: however many frames a piece has, the stack stays
// flat. False when there is nothing to do before more is read.
bool WebSocketStage::Step() {
  if (turn_.RunOne()) return true;
  if (read_done_) {
    read_done_ = false;
    OnRead();
    return true;
  }
  if (over_) return false;
  if (!reading_ && !close_started_) {
    if (session_.paused()) return false;
    StartRead();
    return true;
  }
  return session_.stream().CompleteRead();
}

void WebSocketStage::StartRead() {
  reading_ = true;
  ws_.async_read(message_, asio::bind_executor(TurnExecutor(&turn_), [this](error_code error, size_t) {
                   reading_ = false;
                   read_done_ = true;
                   read_error_ = error;
                 }));
}

void WebSocketStage::OnRead() {
  if (read_error_) return OnReadError();
  unfinished_since_.reset();
  if (!closing()) {
    if (ws_.got_binary()) {
      Close(CloseCode::kUnsupportedData, "text messages only");
    } else {
      delivered_ = true;
      handler_->OnText({static_cast<const char*>(message_.data().data()), message_.size()});
    }
  }
  message_.clear();
  if (message_.capacity() > kKeptMessageBytes) message_.shrink_to_fit();
}

void WebSocketStage::OnReadError() {
  if (close_started_) return;  // the close goes on alone
  over_ = true;
  ThreadCounters& counters = session_.thread().counters();
  ServerCore& core = session_.thread().core();
  if (read_error_ == websocket::error::closed) {
    return session_.EndAfterOutput("closed by the client, code " + std::to_string(ws_.reason().code));
  }
  if (read_error_ == asio::error::eof || read_error_.category() == boost::system::system_category()) {
    return session_.End(read_error_ == asio::error::eof ? "the client hung up"
                                                        : "connection lost: " + read_error_.message());
  }
  // Beast has written the close frame, with the code that fits.
  counters.protocol_errors.Add(1);
  if (const auto line = core.logs.protocol.Take(session_.thread().Now())) {
    spdlog::info("{}: closed for a protocol error: {}{}", client_.address, read_error_.message(), line->Suffix());
  }
  session_.EndAfterOutput("protocol error: " + read_error_.message(), Session::Then::kLinger);
}

void WebSocketStage::Send(TextMessage message) {
  if (closing() || over_ || session_.ended()) return;
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  if (queued_bytes_ >= kPieceBytes && !session_.blocked()) {
    session_.Flush();
    EndIfTooSlow();
  } else {
    session_.NotePending();
    EndIfTooSlow();
    session_.FlushSoon();
  }
}

void WebSocketStage::EndIfTooSlow() {
  const uint64_t most = session_.thread().core().settings.max_pending_bytes;
  const auto too_much = [&] { return !session_.ended() && (pending_bytes() > most || session_.OverShare()); };
  if (!too_much()) return;
  if (!session_.blocked()) session_.Flush();
  if (too_much()) EndTooSlow();
}

void WebSocketStage::EndTooSlow() {
  session_.thread().counters().too_slow.Add(1);
  if (const auto line = session_.thread().core().logs.too_slow.Take(session_.thread().Now())) {
    spdlog::info("{}: disconnected, too slow: {} bytes waited for it{}", client_.address, pending_bytes(),
                 line->Suffix());
  }
  session_.End("too slow");
}

void WebSocketStage::Produce() {
  BufferedStream& stream = session_.stream();
  while (stream.output_bytes() < kPieceBytes && !queue_.empty() && !over_) {
    const TextMessage& message = queue_.front();
    const std::array<asio::const_buffer, 3> buffers = {asio::buffer(message.head),
                                                       asio::buffer(message.body.data(), message.body.size()),
                                                       asio::buffer(message.tail.data(), message.tail.size())};
    error_code error;
    ws_.write(buffers, error);
    queued_bytes_ -= message.size();
    queue_.pop_front();
    if (error) return session_.End("cannot write: " + error.message());
  }
  if (queue_.empty() && closing() && !close_started_ && !over_) StartClose();
}

void WebSocketStage::Close(CloseCode code, std::string_view reason) {
  if (closing() || over_ || session_.ended()) return;
  close_code_ = static_cast<uint16_t>(code);
  // A control frame has room for 123 bytes of it.
  close_reason_ = reason.substr(0, 123);
  if (code == CloseCode::kPolicy || code == CloseCode::kUnsupportedData)
    session_.thread().counters().policy_closes.Add(1);
  since_ = session_.thread().Now();
  if (const auto line = session_.thread().core().logs.protocol.Take(since_)) {
    spdlog::info("{}: closing, {}: {}{}", client_.address, close_code_, Printable(close_reason_), line->Suffix());
  }
  session_.ReadAlways();
  session_.FlushSoon();
}

void WebSocketStage::StartClose() {
  close_started_ = true;
  const websocket::close_reason reason(static_cast<websocket::close_code>(close_code_), close_reason_);
  ws_.async_close(reason, asio::bind_executor(TurnExecutor(&turn_), [this](error_code) {
                    over_ = true;
                    session_.EndAfterOutput("closed, " + std::to_string(close_code_) + ": " + OneLine(close_reason_));
                  }));
}

void WebSocketStage::OnTick(SteadyTime now) {
  const auto interval = session_.thread().core().settings.ping_interval;
  if (closing()) {
    if (now > since_ + std::min(kCloseTimeout, interval))
      session_.End("closed, without an answer: " + OneLine(close_reason_));
    return;
  }
  // Whether it takes anything is asked of a client that is heard, too.
  if (session_.blocked() && now > session_.last_sent() + 2 * interval) return EndTooSlow();
  EndIfTooSlow();
  if (session_.ended()) return;
  if (session_.paused()) {
    if (unfinished_since_) unfinished_since_ = now;  // the wait is ours
    return;
  }
  if (over_) return;
  if (unfinished_since_ && now >= *unfinished_since_ + 2 * interval)
    return Close(CloseCode::kPolicy, "a message was not completed in time");
  pinged_ = pinged_ && session_.last_heard() <= since_;
  if (pinged_) {
    if (now < since_ + interval) return;
    session_.thread().counters().pings_unanswered.Add(1);
    if (const auto line = session_.thread().core().logs.ping.Take(now)) {
      spdlog::debug("{}: dropped, no answer to a ping{}", client_.address, line->Suffix());
    }
    return session_.End("no answer to a ping");
  }
  if (now < session_.last_heard() + interval) return;
  pinged_ = true;
  since_ = now;
  error_code error;
  ws_.ping({}, error);
  session_.FlushSoon();
}

void WebSocketStage::OnShutdown() {
  if (over_ || std::exchange(asked_to_finish_, true)) return;
  handler_->OnShutdown([this, weak = session_.weak_from_this(), executor = executor()] {
    if (weak.expired()) return;
    asio::post(executor, [this, weak] {
      const auto session = weak.lock();
      if (session && !session->ended()) Close(CloseCode::kGoingAway, "the relay is going down");
    });
  });
}

void WebSocketStage::OnEnd(std::string_view cause) {
  session_.thread().counters().connections.Subtract(1);
  spdlog::debug("{}: connection {} ended: {}", client_.address, id_, cause);
  waiters_.Clear();
  if (handler_) handler_->OnEnd(cause);
}

}  // namespace

std::unique_ptr<Stage> MakeWebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client) {
  return std::make_unique<WebSocketStage>(session, request, std::move(client));
}

}  // namespace weir
