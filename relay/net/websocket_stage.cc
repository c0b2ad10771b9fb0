#include "relay/net/websocket_stage.h"

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

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/net/io_thread.h"
#include "relay/net/output_waiters.h"
#include "relay/net/session.h"
#include "relay/net/turn_queue.h"
#include "relay/net/websocket_frame.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

// The time that the peer has to take the queued output and to answer a close; the ping interval, if that is less.
constexpr std::chrono::milliseconds kCloseTimeout{5000};
// The longest message whose buffer is kept after the message was delivered.
constexpr size_t kKeptMessageBytes = 4096;
// The bytes that are inflated, and the bytes that are deflated, in one step.
constexpr size_t kInflatedAtOnce = size_t{8} << 10;
constexpr size_t kDeflatedAtOnce = size_t{8} << 10;
constexpr Work kDeflatedByteWork = 20;
// The work of passing bytes to Beast, which may be 250 empty frames; and the bytes that Beast unmasks for a unit of
// work.
constexpr Work kTakeOverWork = 4'000;
constexpr uint64_t kUnmaskedBytesPerWork = 2;
// The longest reason for which a control frame has room.
constexpr size_t kMostReasonBytes = 123;

class WebSocketStage final : public Stage, public Connection {
 public:
  WebSocketStage(Session& session, const BeastRequest& request, ClientIdentity client);
  ~WebSocketStage() override { session_.stream().DropRead(); }

  uint64_t id() const override { return id_; }
  const std::string& address() const override { return client_.address; }
  const std::string& host() const override { return client_.host; }
  uint64_t group() const override { return client_.group; }
  const std::shared_ptr<Account>& account() const override { return session_.account(); }
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
  void Charge(Work work) override { session_.Charge(work); }
  void Close(CloseCode code, std::string_view reason) override;

  void OnInput() override;
  Work Produce() override;
  void OnSent() override { waiters_.OnSent(pending_bytes()); }
  size_t queued_bytes() const override { return queued_bytes_; }
  size_t held_bytes() const override { return message_.capacity() > kKeptMessageBytes ? message_.capacity() : 0; }
  std::optional<size_t> whole_bytes() const override {
    const size_t whole = message_.size() + rest_bytes_;
    return whole > kKeptMessageBytes ? whole : 0;
  }
  void OnTooMuchHeld() override {
    Close(CloseCode::kOverloaded, "your address makes the relay hold more than it may; try again later");
  }
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  bool OnGiveUp(std::string_view why) override;
  void OnEnd(std::string_view cause) override;

 private:
  void Accept(const BeastRequest& request);
  bool Step();
  void StartRead();
  void OnRead();
  void NoteRest();
  void OnReadError();
  void OnBrokenProtocol();
  std::string ReasonFor(CloseCode code) const;
  error_code Write(const TextMessage& message);
  std::function<void()> Later(void (WebSocketStage::*function)());
  void StartClose();
  void Farewell(std::string cause);
  std::string ClosedBecause() const;
  void EndIfTooSlow();
  void EndTooSlow();
  void NoteUnfinished();
  void CloseBroken() { Close(broken_code_, ReasonFor(broken_code_)); }
  void CloseGoing() { Close(CloseCode::kGoingAway, "the relay is going down"); }
  bool closing() const { return close_code_ != 0; }
  bool broken() const { return broken_code_ != CloseCode::kNormal; }
  // Returns true if Beast is about to fail the connection or to answer a close, which takes a few steps in one turn.
  bool ends() const { return !ws_.is_open() && !close_started_; }
  bool in_message() const { return message_.size() > 0 || !ws_.is_message_done(); }

  Session& session_;
  const uint64_t id_;
  const ClientIdentity client_;
  std::shared_ptr<ConnectionHandler> handler_;

  TurnQueue turn_;  // outlives ws_
  websocket::stream<BufferedStream&> ws_;
  boost::beast::flat_buffer message_;
  error_code read_error_;
  size_t rest_bytes_ = 0;                       // the rest of an unfinished message, as far as its length is known
  std::optional<SteadyTime> unfinished_since_;  // the time since which a message is unfinished
  bool reading_ = false;
  bool read_done_ = false;
  bool in_input_ = false;
  bool delivered_ = false;  // true if a message was delivered since the last OnReadEnd
  bool pinged_ = false;
  bool over_ = false;  // true once Beast's stream has ended
  bool asked_to_finish_ = false;
  bool deflates_ = false;
  CloseCode broken_code_ = CloseCode::kNormal;  // another code if the client has broken the protocol

  bool close_started_ = false;
  uint16_t close_code_ = 0;
  std::string close_reason_;
  SteadyTime since_;  // the time at which the ping or the close was sent

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
      waiters_([&session](std::function<void()> callback) {
        boost::asio::post(session.thread().context(),
                          [kept = session.shared_from_this(), callback = std::move(callback)] {
                            if (!kept->ended()) kept->Guard(callback);
                          });
      }) {
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
    const std::string_view offer = request[boost::beast::http::field::sec_websocket_extensions];
    ws_.set_option(DeflateFor(offer));
    deflates_ = !offer.empty();
  }
  ws_.control_callback([this](websocket::frame_type, std::string_view) { session_.Charge(kFrameWork); });
  error_code error;
  ws_.accept(request, error);
  over_ = error.failed();
  if (!error) return;
  session_.thread().counters().handshake_failures.Add(1);
  session_.EndAfterOutput("handshake: " + error.message());
}

void WebSocketStage::OnInput() {
  in_input_ = true;
  while (!session_.ended() && (!session_.turn_is_over() || ends()) && Step()) continue;
  in_input_ = false;
  // Called even if the connection has ended meanwhile, because messages before its end count.
  if (std::exchange(delivered_, false)) handler_->OnReadEnd();
  NoteUnfinished();
  EndIfTooSlow();
}

// Does not count a part of a frame's header as a message, because it holds no memory.
void WebSocketStage::NoteUnfinished() {
  if (!in_message()) {
    unfinished_since_.reset();
  } else if (!unfinished_since_) {
    unfinished_since_ = session_.last_heard();
  }
}

// Runs one step of Beast. Each step returns before the next begins, so the stack stays flat however many frames a piece
// has. Returns false if no step can run before more input is read.
bool WebSocketStage::Step() {
  if (turn_.RunOne()) return true;
  if (read_done_) {
    read_done_ = false;
    OnRead();
    return true;
  }
  if (over_ || broken()) return false;
  if (!reading_ && !close_started_) {
    if (session_.paused() && !in_message()) return false;
    const bool may_lack_room =
        session_.lacks_room_since() || (in_message() ? message_.size() >= kKeptMessageBytes : session_.blocked());
    if (may_lack_room && !session_.TakeRoom()) return false;
    StartRead();
    return true;
  }
  session_.Charge(kTakeOverWork);
  return session_.stream().CompleteRead();
}

// Reads a part of a message. Inflates at most kInflatedAtOnce bytes for this, however long the message becomes when
// inflated. Until there is room for the whole message, allocates no more memory than the available input needs.
void WebSocketStage::StartRead() {
  reading_ = true;
  size_t most = deflates_ ? kInflatedAtOnce : SIZE_MAX;
  if (message_.size() < kKeptMessageBytes)
    most = std::min(most, std::max(session_.stream().piece().size(), kKeptMessageBytes - message_.size()));
  const auto buffer = message_.prepare(std::min(ws_.read_size_hint(message_), most));
  ws_.async_read_some(buffer, asio::bind_executor(TurnExecutor(&turn_), [this](error_code error, size_t bytes) {
                        reading_ = false;
                        read_done_ = true;
                        read_error_ = error;
                        message_.commit(bytes);
                        if (deflates_) session_.Charge(bytes * kInflatedByteWork);
                      }));
}

void WebSocketStage::OnRead() {
  rest_bytes_ = 0;
  if (read_error_) return OnReadError();
  session_.Charge(kFrameWork);
  if (!ws_.is_message_done()) return NoteRest();
  session_.Charge(message_.size() / kUnmaskedBytesPerWork);
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

// Notes the bytes for which room is needed. A compressed message does not announce its inflated length, so its rest
// counts as long as the part that was read.
void WebSocketStage::NoteRest() {
  if (!deflates_) {
    rest_bytes_ = ws_.read_size_hint(size_t{1});
  } else if (message_.size() >= kKeptMessageBytes) {
    const size_t most = session_.thread().core().settings.max_message_bytes;
    rest_bytes_ = std::min(most - std::min(most, message_.size()), message_.size());
  }
}

void WebSocketStage::OnReadError() {
  if (close_started_) return;  // the close continues without further reads
  if (read_error_ == websocket::error::closed) {
    over_ = true;
    return session_.EndAfterOutput("closed by the client, code " + std::to_string(ws_.reason().code));
  }
  if (read_error_ == asio::error::eof || read_error_.category() == boost::system::system_category()) {
    over_ = true;
    return session_.End(read_error_ == asio::error::eof ? "the client hung up"
                                                        : "connection lost: " + read_error_.message());
  }
  OnBrokenProtocol();
}

// Takes back the close frame without a reason that Beast has written as its last output. The client first gets its
// outstanding answers, and then a close frame with the reason.
void WebSocketStage::OnBrokenProtocol() {
  session_.thread().counters().protocol_errors.Add(1);
  if (const auto line = session_.thread().core().logs.protocol.Take(session_.thread().Now())) {
    spdlog::info("{}: closed for a protocol error: {}{}", client_.address, read_error_.message(), line->Suffix());
  }
  broken_code_ = static_cast<CloseCode>(TakeBackClose(session_.stream()));
  if (closing()) return;
  since_ = session_.thread().Now();
  handler_->OnLastText(Later(&WebSocketStage::CloseBroken));
}

std::string WebSocketStage::ReasonFor(CloseCode code) const {
  if (code == CloseCode::kTooBig)
    return "a message may have at most " + std::to_string(session_.thread().core().settings.max_message_bytes) +
           " bytes";
  if (code == CloseCode::kInvalidText) return "a message must be valid UTF-8";
  return "protocol error: " + read_error_.message();
}

void WebSocketStage::Send(TextMessage message) {
  if (closing() || over_ || session_.ended()) return;
  queued_bytes_ += message.held_bytes();
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
  if (!session_.blocked()) session_.FlushWhole();
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

Work WebSocketStage::Produce() {
  BufferedStream& stream = session_.stream();
  size_t taken = 0;
  while (stream.output_bytes() < kPieceBytes && !queue_.empty() && !over_ && !(deflates_ && taken >= kDeflatedAtOnce)) {
    const error_code error = Write(queue_.front());
    taken += queue_.front().size();
    queued_bytes_ -= queue_.front().held_bytes();
    queue_.pop_front();
    if (error) {
      session_.End("cannot write: " + error.message());
      break;
    }
  }
  if (queue_.empty() && closing() && !close_started_ && !over_) StartClose();
  return taken * (deflates_ ? kDeflatedByteWork : 1);
}

// Writes only compressed messages through Beast, because Beast would make a live delivery cost 0.6 µs more.
error_code WebSocketStage::Write(const TextMessage& message) {
  error_code error;
  if (!deflates_ || broken()) {
    AppendFrame(session_.stream(), Opcode::kText, {message.head, message.body, message.tail});
  } else {
    const std::array<asio::const_buffer, 3> buffers = {asio::buffer(message.head),
                                                       asio::buffer(message.body.data(), message.body.size()),
                                                       asio::buffer(message.tail.data(), message.tail.size())};
    ws_.write(buffers, error);
  }
  return error;
}

void WebSocketStage::Close(CloseCode code, std::string_view reason) {
  if (closing() || over_ || session_.ended()) return;
  close_code_ = static_cast<uint16_t>(code);
  close_reason_ = reason.substr(0, kMostReasonBytes);
  if (code == CloseCode::kPolicy || code == CloseCode::kUnsupportedData)
    session_.thread().counters().policy_closes.Add(1);
  since_ = session_.thread().Now();
  if (const auto line = session_.thread().core().logs.protocol.Take(since_); line && !broken()) {
    spdlog::info("{}: closing, {}: {}{}", client_.address, close_code_, Printable(close_reason_), line->Suffix());
  }
  session_.ReadAlways();
  session_.FlushSoon();
}

void WebSocketStage::StartClose() {
  close_started_ = true;
  const bool server_goes = session_.thread().core().going.load(std::memory_order_relaxed);
  if (broken() || server_goes) {
    const char code[] = {static_cast<char>(close_code_ >> 8), static_cast<char>(close_code_ & 255)};
    AppendFrame(session_.stream(), Opcode::kClose, {{code, sizeof code}, close_reason_, {}});
    return Farewell(broken() ? "protocol error: " + read_error_.message() : ClosedBecause());
  }
  const websocket::close_reason reason(static_cast<websocket::close_code>(close_code_), close_reason_);
  ws_.async_close(reason, asio::bind_executor(TurnExecutor(&turn_), [this](error_code) {
                    over_ = true;
                    session_.EndAfterOutput(ClosedBecause());
                  }));
}

std::string WebSocketStage::ClosedBecause() const {
  return "closed, " + std::to_string(close_code_) + ": " + AsText(close_reason_);
}

// Ends the stage without waiting for the peer's close frame, which the lingering session reads.
void WebSocketStage::Farewell(std::string cause) {
  over_ = true;
  session_.EndAfterOutput(std::move(cause), Session::Then::kLinger);
}

void WebSocketStage::OnTick(SteadyTime now) {
  const auto interval = session_.thread().core().settings.ping_interval;
  if (closing()) {
    if (now > since_ + std::min(kCloseTimeout, interval))
      session_.End("closed, without an answer: " + AsText(close_reason_));
    return;
  }
  if (broken() && now > since_ + std::min(kCloseTimeout, interval)) return CloseBroken();
  // A client must take its output even if it keeps sending.
  if (session_.blocked() && now > session_.last_sent() + 2 * interval) return EndTooSlow();
  EndIfTooSlow();
  if (session_.ended()) return;
  if (handler_ && !over_ && !broken()) handler_->OnTick();
  if (closing() || session_.ended()) return;
  const std::optional<SteadyTime> lacks_room_since = session_.lacks_room_since();
  if (lacks_room_since && in_message() && now > *lacks_room_since + interval) return OnTooMuchHeld();
  if (session_.paused() || lacks_room_since) {
    if (unfinished_since_) unfinished_since_ = now;  // the pause does not count as slowness of the client
    return;
  }
  if (over_ || broken()) return;
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
  if (close_started_) return Farewell(ClosedBecause());
  handler_->OnShutdown(Later(&WebSocketStage::CloseGoing));
}

// Returns a callback that posts a call of `function`. Any thread may call it, even after the connection has ended.
std::function<void()> WebSocketStage::Later(void (WebSocketStage::*function)()) {
  return [this, function, weak = session_.weak_from_this(), executor = executor()] {
    if (weak.expired()) return;
    asio::post(executor, [this, function, weak] {
      const auto session = weak.lock();
      if (session && !session->ended()) session->Guard([&] { (this->*function)(); });
    });
  };
}

// First drops the messages that are still queued, because the client might not take them for a long time. Returns false
// for a connection that is closing already, so that it ends at once.
bool WebSocketStage::OnGiveUp(std::string_view why) {
  if (closing() || over_ || !handler_) return false;
  queue_.clear();
  queued_bytes_ = 0;
  session_.NotePending();
  handler_->OnGiveUp(why);
  Close(CloseCode::kOverloaded, why);
  return true;
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
