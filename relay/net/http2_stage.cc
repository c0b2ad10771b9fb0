#include "relay/net/http2_stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "relay/net/http2_exchange.h"
#include "relay/net/http2_frames.h"
#include "relay/net/http2_head.h"
#include "relay/net/http_bounds.h"
#include "relay/net/http_error.h"
#include "relay/net/http_message.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/owed_answer.h"
#include "relay/net/session.h"

namespace weir {

struct Http2Stream {
  // A stream that is answered in pieces is ready once its header is whole, while its body may still come.
  enum class State : uint8_t { kHeader, kBody, kDue, kAsked, kAnswered };

  const int32_t id;
  std::list<Http2Stream>::iterator place;
  HttpRequest request;  // kept until the handler is called
  Http2Head head;
  SteadyTime begin;
  Http2Body answer;
  const HttpStreamFactory* factory = nullptr;  // set for a route of AddStream, until `exchange` is made
  std::unique_ptr<Http2Exchange> exchange;
  size_t held_bytes = 0;
  uint64_t dropped_bytes = 0;  // bytes of the body that were dropped
  SteadyTime drops_until;      // the time of its reset; set if the answer ended before the body
  State state = State::kHeader;
  bool body_ended = false;
  bool head_only = false;
};

namespace {

constexpr uint32_t kMostStreams = 128;
// The most bytes that are passed to nghttp2 at once, because it does not stop before their end.
constexpr size_t kSliceBytes = 4096;
// The most idle frames in a second. Idle frames are resets of either side, pings, settings, priorities, window updates
// and empty frames. (nghttp2 skips unknown frames.) Each frame of an answer subtracts kIdleFramesOfAnswer from the
// count.
constexpr uint32_t kMostIdleFrames = 1000;
constexpr uint32_t kIdleFramesOfAnswer = 4;
// If more than this many bytes of answers' bodies wait for the client or its windows, no further request is handled.
constexpr size_t kMostQueuedBytes = size_t{64} << 10;
// If more than this many frames wait to be sent, not counting those of bodies, the socket is not read.
constexpr size_t kMostQueuedFrames = 512;
// The memory of a waiting stream, here and in nghttp2; and the memory of an exchange and its handler.
constexpr size_t kStreamBytes = 1024;
constexpr size_t kExchangeBytes = size_t{16} << 10;
// The work of a field of a header; and the work of a request and its answer, without that of its bytes. A handler that
// does more work charges the difference.
constexpr Work kFieldWork = 100;
constexpr Work kStreamWork = 4'000;

class Http2Stage final : public Stage, private Http2Frames::Listener {
 public:
  explicit Http2Stage(Session& session);
  ~Http2Stage() override { desk_->Leave(); }
  bool BeginWith(std::string_view settings, HttpRequest& request);
  void Receive(std::string_view bytes);

  void OnInput() override;
  Work Produce() override { return frames_.Write(); }
  void OnSent() override;
  size_t queued_bytes() const override { return queued_bytes_ + exchanges_.pending; }
  size_t held_bytes() const override {
    const size_t bytes = held_bytes_ + exchanges_.held;
    return bytes > kUncountedBytes ? bytes : 0;
  }
  void OnTooMuchHeld() override;
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override;

 private:
  using State = Http2Stream::State;

  void OnFrameBegin(bool brings_something) override;
  Http2Stream& OnRequestBegin(int32_t id) override;
  bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void OnPartEnd(Http2Stream& stream, bool is_last) override;
  void OnBody(Http2Stream& stream, std::string_view piece) override;
  void OnBadFrame(int32_t id, std::string_view why) override;
  void OnBodySent(Http2Stream& stream, size_t bytes) override;
  void OnAnswerSent() override { idle_frames_ -= std::min(idle_frames_, kIdleFramesOfAnswer); }
  // A client can make the server reset its streams, so resets that are sent count too.
  void OnResetSent() override { CountIdleFrame(); }
  bool OnAnsweredEarly(Http2Stream& stream) override;
  void OnGoAwaySent(const std::string& cause) override;
  void OnGoAway() override { EndExchangesSoon(); }
  void OnClosed(Http2Stream& stream) override;

  void OnHead(Http2Stream& stream, bool has_body);
  const HttpStreamFactory* StreamOf(const HttpRequest& request) const;
  std::optional<HttpResponse> BodyProblem(const HttpRequest& request) const;
  void OnDue(Http2Stream& stream);
  void DropBody(Http2Stream& stream, size_t bytes);
  void EndDropping(Http2Stream& stream);
  void Ask(Http2Stream& stream);
  void BeginExchange(Http2Stream& stream);
  void EndExchangesSoon();
  void Answer(Http2Stream& stream, HttpResponse response);
  void Refuse(Http2Stream& stream, const HttpResponse& response, std::string_view what);
  void NoteHeld(Http2Stream& stream);
  void CountIdleFrame();
  void AskForLife(SteadyTime now);
  void GoAway(Http2Code code, std::string_view why);
  void Break(std::string_view why, Http2Code code = Http2Code::kCalm);
  SteadyTime NextDeadline() { return session_.thread().Now() + core_.settings.handshake_timeout; }

  Session& session_;
  ServerCore& core_;
  ThreadCounters& counters_;
  const std::string peer_;
  const std::shared_ptr<AnswerDesk> desk_;
  Http2ExchangeBytes exchanges_;
  std::list<Http2Stream> streams_;  // outlives frames_, which points to them
  Http2Frames frames_;
  std::deque<int32_t> due_;  // requests that are ready to be handled; some of their streams may be closed
  size_t queued_bytes_ = 0;  // bytes of whole answers' bodies
  size_t held_bytes_ = 0;
  SteadyTime deadline_;   // the end of a connection without streams
  SteadyTime last_data_;  // the time at which a part of the queued bodies was last sent
  SteadyTime second_;     // the beginning of the second in which idle frames are counted
  SteadyTime pinged_at_;  // Session::last_heard at the last ping
  uint32_t idle_frames_ = 0;
  std::string cause_;  // the reason in the GOAWAY that was sent
  bool broken_ = false;
  bool gone_away_ = false;
  bool stalled_ = false;
};

Http2Stage::Http2Stage(Session& session)
    : session_(session),
      core_(session.thread().core()),
      counters_(session.thread().counters()),
      peer_(session.peer().to_string()),
      desk_(std::make_shared<AnswerDesk>(session)),
      frames_(*this, session.stream(), kMostStreams),
      deadline_(NextDeadline()),
      second_(session.thread().Now()) {
  if (core_.going.load(std::memory_order_relaxed)) OnShutdown();
}

bool Http2Stage::BeginWith(std::string_view settings, HttpRequest& request) {
  Http2Stream* const first = frames_.Upgrade(settings, request.method == "HEAD");
  if (first == nullptr) return false;
  Http2Stream& stream = *first;
  stream.request = std::move(request);
  stream.request.over_http2 = true;
  stream.head_only = stream.request.method == "HEAD";
  stream.state = State::kDue;
  due_.push_back(stream.id);
  return true;
}

void Http2Stage::OnInput() {
  for (AnswerDesk::Answer& answer : desk_->Take())
    if (Http2Stream* stream = frames_.Find(static_cast<int32_t>(answer.number)))
      Answer(*stream, std::move(answer.response));
  while (!session_.ended() && !broken_) {
    if (session_.turn_is_over()) return;
    if (!due_.empty() && queued_bytes_ <= kMostQueuedBytes) {
      Http2Stream* stream = frames_.Find(due_.front());
      due_.pop_front();
      if (stream != nullptr && stream->state == State::kDue) Ask(*stream);
      continue;
    }
    if (!stalled_ && frames_.queued_frames() > kMostQueuedFrames) {
      stalled_ = true;
      session_.PauseReading();
    }
    if (stalled_) return;
    const std::string_view piece = session_.stream().piece().substr(0, kSliceBytes);
    if (piece.empty()) break;
    Receive(piece);
    session_.stream().Consume(piece.size());
  }
  if (broken_) session_.stream().Consume(session_.stream().piece().size());
  if (!session_.input_ended()) return;
  desk_->HangUp();
  const boost::system::error_code error = session_.stream().input_error();
  if (error != boost::asio::error::eof) return session_.End("connection lost: " + error.message());
  // A client that has closed its sending half cannot open windows any more.
  for (Http2Stream& stream : streams_) {
    EndDropping(stream);
    if (stream.exchange && !stream.exchange->is_over()) stream.exchange->Drop("the client hung up", Http2Code::kCancel);
  }
}

void Http2Stage::Receive(std::string_view bytes) {
  session_.Charge(bytes.size() * kParsedByteWork);
  if (const auto problem = frames_.Read(bytes)) Break(*problem, Http2Code::kProtocol);
}

void Http2Stage::OnFrameBegin(bool brings_something) {
  session_.Charge(kHttp2FrameWork);
  if (!brings_something) CountIdleFrame();
}

void Http2Stage::CountIdleFrame() {
  if (++idle_frames_ > kMostIdleFrames) Break("too many frames that ask for nothing");
}

Http2Stream& Http2Stage::OnRequestBegin(int32_t id) {
  streams_.push_back(
      {.id = id, .place = {}, .request = {}, .head = {}, .begin = session_.thread().Now(), .answer = {}});
  Http2Stream& stream = streams_.back();
  stream.place = std::prev(streams_.end());
  stream.request.over_http2 = true;
  NoteHeld(stream);
  return stream;
}

bool Http2Stage::OnField(Http2Stream& stream, std::string_view name, std::string_view value) {
  session_.Charge(kFieldWork + (name.size() + value.size()) * kParsedByteWork);
  if (!stream.head.Count(name, value)) {
    Break("a header far too long");
    return false;
  }
  if (stream.state == State::kHeader) stream.head.Take(stream.request, name, value);
  return true;
}

void Http2Stage::OnPartEnd(Http2Stream& stream, bool is_last) {
  if (stream.state == State::kHeader) OnHead(stream, !is_last);
  if (!is_last || stream.body_ended) return;
  stream.body_ended = true;
  if (stream.exchange && !stream.exchange->is_over()) stream.exchange->OnBodyEnd();
  if (stream.state == State::kBody) OnDue(stream);
}

void Http2Stage::OnBadFrame(int32_t id, std::string_view why) {
  NoteRefusal(session_, counters_.http_errors, 400, "stream " + std::to_string(id) + ": " + std::string(why));
}

void Http2Stage::OnHead(Http2Stream& stream, bool has_body) {
  stream.state = State::kBody;
  stream.head_only = stream.request.method == "HEAD";
  auto problem = stream.head.Finish(stream.request);
  if (!problem && has_body) problem = BodyProblem(stream.request);
  if (problem) return Refuse(stream, *problem, "what its header asks for is refused");
  NoteHeld(stream);
  stream.factory = StreamOf(stream.request);
  if (stream.factory != nullptr) return OnDue(stream);
  if (has_body && stream.request.Header("expect") == "100-continue") frames_.Continue(stream.id);
}

const HttpStreamFactory* Http2Stage::StreamOf(const HttpRequest& request) const {
  return core_.router.StreamFor(request.method, request.raw_path, request.Header("content-type"));
}

// Returns the answer that refuses a request because of its body, before the body has come; nullopt if there is none.
std::optional<HttpResponse> Http2Stage::BodyProblem(const HttpRequest& request) const {
  if (StreamOf(request) != nullptr) return std::nullopt;
  if (auto refusal = core_.router.RefusalFromHead(request.method, request.raw_path)) return refusal;
  const uint64_t most = MostBodyBytes(core_.settings, request.method);
  const auto announced = ParseUnsigned(request.Header("content-length"), {.min = 0, .max = 1e18});
  if (announced.ok() && announced.value() > most) return BodyTooLong(most);
  return std::nullopt;
}

void Http2Stage::OnBody(Http2Stream& stream, std::string_view piece) {
  frames_.OpenWindow(piece.size());
  if (stream.exchange && !stream.exchange->is_over()) return stream.exchange->OnBody(piece);
  std::string& body = stream.request.body;
  if (stream.state == State::kDue) {
    body += piece;  // the body gets no longer than the stream's window
    return NoteHeld(stream);
  }
  if (stream.state != State::kBody) return DropBody(stream, piece.size());
  frames_.OpenWindow(stream.id, piece.size());
  const uint64_t most = MostBodyBytes(core_.settings, stream.request.method);
  if (body.size() + piece.size() > most) return Refuse(stream, BodyTooLong(most), "its body is too long");
  body += piece;
  NoteHeld(stream);
}

// Drops bytes of the body of a request that was already answered.
void Http2Stage::DropBody(Http2Stream& stream, size_t bytes) {
  stream.dropped_bytes += bytes;
  if (stream.dropped_bytes <= kMostDroppedBodyBytes) return frames_.OpenWindow(stream.id, bytes);
  EndDropping(stream);
}

void Http2Stage::EndDropping(Http2Stream& stream) {
  if (std::exchange(stream.drops_until, {}) == SteadyTime()) return;
  frames_.Reset(stream.id, Http2Code::kNone);
  session_.FlushSoon();
}

bool Http2Stage::OnAnsweredEarly(Http2Stream& stream) {
  const bool is_over = session_.input_ended() || core_.going.load(std::memory_order_relaxed);
  if (is_over || stream.dropped_bytes > kMostDroppedBodyBytes) return false;
  if (stream.exchange) stream.exchange->DropHeld();
  stream.drops_until = session_.thread().Now() + kLastWordsTaken;
  return true;
}

void Http2Stage::OnDue(Http2Stream& stream) {
  HttpRequest& request = stream.request;
  const IpAddress client = core_.proxies.Client(session_.peer(), JoinedHeader(request, "x-forwarded-for"),
                                                JoinedHeader(request, "x-real-ip"));
  request.address = client == session_.peer() ? peer_ : client.to_string();
  request.peer = peer_;
  request.secure = session_.stream().tls() != nullptr;
  counters_.http_requests.Add(1);
  stream.state = State::kDue;
  due_.push_back(stream.id);
}

void Http2Stage::Ask(Http2Stream& stream) {
  session_.Charge(kStreamWork);
  stream.state = State::kAsked;
  if (stream.factory != nullptr) return BeginExchange(stream);
  auto answer = desk_->Ask(core_.router, stream.request, static_cast<uint64_t>(stream.id));
  stream.request = HttpRequest();
  NoteHeld(stream);
  if (answer) Answer(stream, *std::move(answer));
  if (core_.going.load(std::memory_order_relaxed)) GoAway(Http2Code::kNone, "the server is shutting down");
}

void Http2Stage::BeginExchange(Http2Stream& stream) {
  const std::string begin = std::exchange(stream.request.body, {});
  stream.exchange = std::make_unique<Http2Exchange>(
      Http2ExchangeParts{session_, frames_, exchanges_, stream.answer, stream.id}, std::move(stream.request));
  stream.request = HttpRequest();
  NoteHeld(stream);
  if (auto refusal = stream.exchange->Ask(*stream.factory)) {
    stream.exchange.reset();
    NoteHeld(stream);
    DropBody(stream, begin.size());
    Answer(stream, PlainErrorAsJson(*std::move(refusal)));
  } else if (!stream.exchange->is_over()) {
    if (!begin.empty()) stream.exchange->OnBody(begin);
    if (stream.body_ended && !stream.exchange->is_over()) stream.exchange->OnBodyEnd();
  } else {
    DropBody(stream, begin.size());
  }
  if (core_.going.load(std::memory_order_relaxed)) GoAway(Http2Code::kNone, "the server is shutting down");
}

void Http2Stage::EndExchangesSoon() {
  for (Http2Stream& stream : streams_)
    if (stream.exchange) stream.exchange->OnShutdown();
}

void Http2Stage::Answer(Http2Stream& stream, HttpResponse response) {
  stream.state = State::kAnswered;
  session_.Charge(response.body.size() * kWrittenByteWork);
  const bool with_body = HasBody(response) && !stream.head_only && !response.body.empty();
  frames_.Answer(stream.id, response, with_body ? &stream.answer : nullptr);
  session_.FlushSoon();
  if (!with_body) return;
  if (queued_bytes_ == 0) last_data_ = session_.thread().Now();
  queued_bytes_ += response.body.size();
  stream.answer.bytes = std::move(response.body);
  stream.answer.trailers = std::move(response.trailers);
}

void Http2Stage::Refuse(Http2Stream& stream, const HttpResponse& response, std::string_view what) {
  NoteRefusal(session_, counters_.http_errors, response.status, what);
  // The window was not opened for the waiting bytes of a streamed body.
  const size_t waiting = stream.state == State::kDue && stream.factory ? stream.request.body.size() : 0;
  Answer(stream, core_.router.Worded(stream.request, response));
  DropBody(stream, waiting);
  stream.request = HttpRequest();
  NoteHeld(stream);
}

void Http2Stage::OnBodySent(Http2Stream& stream, size_t bytes) {
  session_.Charge(kHttp2FrameWork);
  if (stream.exchange) return stream.exchange->OnSent(bytes);
  queued_bytes_ -= bytes;
  last_data_ = session_.thread().Now();
}

void Http2Stage::OnGoAwaySent(const std::string& cause) {
  gone_away_ = true;
  if (cause.empty()) return;
  cause_ = cause;
  counters_.http_errors.Add(1);
  if (const auto line = core_.logs.handshake.Take(session_.thread().Now()))
    spdlog::info("{}: HTTP/2 ended, {}{}", peer_, cause_, line->Suffix());
}

void Http2Stage::OnClosed(Http2Stream& stream) {
  if (stream.exchange) {
    stream.exchange->OnEnd("the client has left");
  } else {
    if (stream.state == State::kAsked) desk_->Leave(static_cast<uint64_t>(stream.id));
    queued_bytes_ -= stream.answer.rest();
  }
  held_bytes_ -= stream.held_bytes;
  streams_.erase(stream.place);
  if (streams_.empty()) deadline_ = NextDeadline();
}

void Http2Stage::OnSent() {
  if (stalled_ && session_.stream().output_bytes() == 0) {
    stalled_ = false;
    session_.ResumeReading();
  }
  if (!due_.empty() && queued_bytes_ <= kMostQueuedBytes) session_.ProcessSoon();
  if (frames_.is_over() || (broken_ && gone_away_))
    return session_.EndAfterOutput(cause_.empty() ? "the client has ended it" : cause_, Session::Then::kLinger);
  if (session_.input_ended() && streams_.empty()) session_.EndAfterOutput("the client hung up");
}

void Http2Stage::NoteHeld(Http2Stream& stream) {
  const bool has_request = stream.state < State::kAsked;
  const size_t request = stream.head.kept_bytes() + stream.request.body.capacity();
  const size_t bytes = kStreamBytes + (has_request ? request : 0) + (stream.exchange ? kExchangeBytes : 0);
  held_bytes_ += bytes - std::exchange(stream.held_bytes, bytes);
}

void Http2Stage::OnTooMuchHeld() {
  for (Http2Stream& stream : streams_) {
    if (stream.exchange) stream.exchange->OnTooMuchHeld();
    if (stream.state == State::kBody || stream.state == State::kDue)
      Refuse(stream, AddressHoldsTooMuch(), "its address holds too much (WEIR_MAX_ADDRESS_MB)");
  }
}

// Ends the connection after the requests that it has. Later requests are ignored; GOAWAY tells the client so, and it
// may send them elsewhere.
void Http2Stage::GoAway(Http2Code code, std::string_view why) {
  if (!cause_.empty() && code == Http2Code::kNone) return;
  cause_ = why;
  frames_.GoAway(code, why);
  session_.FlushSoon();
}

void Http2Stage::Break(std::string_view why, Http2Code code) {
  if (!std::exchange(broken_, true)) GoAway(code, why);
}

void Http2Stage::OnTick(SteadyTime now) {
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    idle_frames_ = 0;
  }
  if (desk_->has_answers()) session_.ProcessSoon();
  const auto timeout = core_.settings.handshake_timeout;
  const bool is_late = session_.stream().output_bytes() > 0 ? now > session_.last_sent() + timeout
                                                            : queued_bytes_ > 0 && now > last_data_ + timeout;
  if (is_late || session_.OverShare()) {
    counters_.too_slow.Add(1);
    return session_.End("the client did not take its answer");
  }
  if (!streams_.empty() && !stalled_) AskForLife(now);
  for (Http2Stream& stream : streams_) {
    if (stream.exchange) stream.exchange->OnTick(now);
    if (stream.drops_until != SteadyTime() && now > stream.drops_until) EndDropping(stream);
    if (stream.state > State::kBody || now <= stream.begin + timeout) continue;
    if (stream.state == State::kHeader) return Break("no whole header in time");
    Refuse(stream, NotInTime(), "no whole request in time");
  }
  if (streams_.empty() && now > deadline_) GoAway(Http2Code::kNone, "nothing more was asked");
}

// Pings a silent client, and ends the connection if it stays silent: otherwise a client that has vanished would keep
// its streams' memory.
void Http2Stage::AskForLife(SteadyTime now) {
  const auto silence = core_.settings.ping_interval;
  if (now <= session_.last_heard() + silence) return;
  if (now > session_.last_heard() + 2 * silence) {
    counters_.pings_unanswered.Add(1);
    return session_.End("no answer to a ping");
  }
  if (std::exchange(pinged_at_, session_.last_heard()) == session_.last_heard()) return;
  frames_.Ping();
  session_.FlushSoon();
}

void Http2Stage::OnEnd(std::string_view cause) {
  spdlog::debug("{}: HTTP/2 ended: {}", peer_, cause);
  for (Http2Stream& stream : streams_)
    if (stream.exchange) stream.exchange->OnEnd(cause);
}

void Http2Stage::OnShutdown() {
  if (frames_.was_asked() || !streams_.empty()) {
    desk_->Tell(HttpLeft::kServer);
    EndExchangesSoon();
    for (Http2Stream& stream : streams_) EndDropping(stream);
    return GoAway(Http2Code::kNone, "the server is shutting down");
  }
  deadline_ = std::min(deadline_, session_.thread().Now() + kLastChance);
}

}  // namespace

std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view begin) {
  auto stage = std::make_unique<Http2Stage>(session);
  if (!begin.empty()) stage->Receive(begin);
  return stage;
}

std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view settings, HttpRequest& request) {
  auto stage = std::make_unique<Http2Stage>(session);
  if (!stage->BeginWith(settings, request)) return nullptr;
  return stage;
}

}  // namespace weir
