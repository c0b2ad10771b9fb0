#include "relay/net/http_stage.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "relay/net/http2_stage.h"
#include "relay/net/http_bounds.h"
#include "relay/net/http_message.h"
#include "relay/net/io_thread.h"
#include "relay/net/last_answer.h"
#include "relay/net/owed_answer.h"
#include "relay/net/session.h"
#include "relay/net/stream_stage.h"
#include "relay/net/websocket_stage.h"

namespace weir {
namespace {

namespace http = boost::beast::http;

// If more than this many bytes of answers wait for the client, the stage reads no further requests.
constexpr size_t kMaxUnsentBytes = size_t{256} << 10;
// The work of a request and its answer, without that of its bytes. A handler that does more work charges the difference
// (account/turn_meter.h).
constexpr Work kRequestWork = 20'000;

HttpResponse NoHost() { return {.status = 400, .body = "one Host header is needed\n"}; }

std::string_view RawPathOf(const BeastRequest& request) {
  const std::string_view target = TargetOf(request);
  return target.substr(0, target.find('?'));
}

class HttpStage final : public Stage {
 public:
  explicit HttpStage(Session& session)
      : session_(session),
        core_(session.thread().core()),
        counters_(session.thread().counters()),
        deadline_(NextDeadline()) {}
  ~HttpStage() override {
    if (desk_) desk_->Leave();
  }

  void Refuse(Refusal refusal);

  void OnInput() override;
  void OnSent() override;
  size_t held_bytes() const override;
  void OnTooMuchHeld() override;
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override {
    spdlog::debug("{}: HTTP ended: {}", session_.peer().to_string(), cause);
  }

 private:
  SteadyTime NextDeadline() { return session_.thread().Now() + core_.settings.handshake_timeout; }
  bool IsSecure() const { return session_.stream().tls() != nullptr; }
  bool InRequest() const { return parser_.has_value() && parser_->got_some(); }
  bool MayBeHttp2();
  bool Parse();
  bool Upgrades(const BeastRequest& request) const { return core_.factory && AsksForWebSocket(request); }
  void OnHeader(boost::system::error_code& error);
  bool HasWebSocketsAt(std::string_view raw_path) const;
  void OnRequest();
  void BeginStream();
  void Upgrade(const BeastRequest& request, const IpAddress& client);
  bool UpgradeToHttp2(const std::string& settings, HttpRequest& request);
  std::optional<HttpResponse> Ask(HttpRequest& request);
  bool StillWaits();
  void NoticeEnd();
  void Answer(const HttpResponse& response);
  void Fail(const HttpResponse& response, std::string_view what) {
    RefuseRequest(session_, counters_.http_errors, response, what);
  }
  void Fail(const BeastRequest& request, HttpResponse response, std::string_view what) {
    Fail(core_.router.Worded(HttpRequest{.path = std::string(TargetOf(request))}, std::move(response)), what);
  }
  IpAddress Client(const BeastRequest& request) const;

  Session& session_;
  ServerCore& core_;
  ThreadCounters& counters_;
  std::optional<RequestParser> parser_;
  std::optional<HttpResponse> problem_;        // the answer that refuses the request by its header, if any
  const HttpStreamFactory* stream_ = nullptr;  // the factory for the request whose header has come; null if none
  std::string rest_;                           // bytes of earlier pieces that the parser could not use without more
  std::string peer_text_;                      // set at the first request; making it costs a tenth of a request
  SteadyTime deadline_;
  std::shared_ptr<AnswerDesk> desk_;  // set at the first request
  uint64_t asked_ = 0;                // the number of requests so far
  uint64_t most_body_bytes_ = 0;      // the bound for the request whose header has come
  size_t preface_bytes_ = 0;          // the number of bytes of HTTP/2's preface that have come
  bool may_be_http2_ = true;
  bool keep_alive_ = false;  // true if the connection stays open after the latest answer
  bool head_only_ = false;   // true if the latest request is a HEAD
  bool waits_ = false;       // true while the latest request has no answer
  bool answered_ = false;    // true if at least one request was answered
  bool continued_ = false;
  bool folds_ = false;  // true once a field of the header continued on a second line
  bool stalled_ = false;
  bool handed_on_ = false;  // true once another stage has the connection
};

void HttpStage::OnInput() {
  if (may_be_http2_ && session_.stream().tls() != nullptr && session_.stream().tls()->chose_http2()) {
    handed_on_ = true;
    return session_.SetStage(MakeHttp2Stage(session_, ""));
  }
  if (waits_ && StillWaits()) return;
  while (!session_.ended() && !handed_on_) {
    if (session_.turn_is_over()) return;
    if (!stalled_ && session_.stream().output_bytes() > kMaxUnsentBytes) {
      stalled_ = true;  // until OnSent, which resumes reading once
      session_.PauseReading();
    }
    if (stalled_) return;
    if (rest_.empty() && session_.stream().piece().empty()) break;
    if (MayBeHttp2() || !Parse()) break;
    OnRequest();
    if (waits_) return;
  }
  if (session_.input_ended() && !handed_on_ && session_.stream().piece().empty())
    session_.EndAfterOutput("the client hung up");
}

// Returns true if the connection's first bytes are HTTP/2's preface, or a part of it.
bool HttpStage::MayBeHttp2() {
  if (!may_be_http2_) return false;
  const std::string_view piece = session_.stream().piece();
  const std::string_view missing = kHttp2Preface.substr(preface_bytes_, piece.size());
  if (!piece.starts_with(missing)) {
    may_be_http2_ = false;
    rest_ = kHttp2Preface.substr(0, preface_bytes_);
    return false;
  }
  session_.stream().Consume(missing.size());
  preface_bytes_ += missing.size();
  if (preface_bytes_ < kHttp2Preface.size()) return true;
  handed_on_ = true;
  session_.SetStage(MakeHttp2Stage(session_, kHttp2Preface));
  return true;
}

// Returns true if there is a whole request, or the header of a request whose body is for another stage.
bool HttpStage::Parse() {
  if (!parser_) {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(boost::none);
    continued_ = false;
    folds_ = false;
  }
  const size_t from_earlier = rest_.size();
  const std::string_view piece = session_.stream().piece();
  if (from_earlier > 0) rest_.append(piece);
  const std::string_view input = from_earlier > 0 ? std::string_view(rest_) : piece;
  boost::system::error_code error;
  size_t used = 0;
  while (used < input.size() && !parser_->is_done() && stream_ == nullptr && !problem_) {
    const bool had_header = parser_->is_header_done();
    const size_t bytes = parser_->put(boost::asio::const_buffer(input.data() + used, input.size() - used), error);
    used += bytes;
    // The parser uses up whole fields, and finds the end of the header perhaps in a later piece.
    if (!had_header) folds_ = folds_ || FoldsAField(input.substr(used - bytes, bytes));
    if (!error && !had_header && parser_->is_header_done()) OnHeader(error);
    if (error || bytes == 0) break;
  }
  if (problem_) {
    Fail(parser_->get(), *problem_, "what its header asks for is refused");
    return false;
  }
  session_.Charge(used * kParsedByteWork);
  const bool done = parser_->is_done() || stream_ != nullptr;
  // Bytes after a whole request stay in the piece, because they may belong to the next stage.
  if (done && used >= from_earlier) {
    session_.stream().Consume(used - from_earlier);
    rest_.clear();
  } else {
    std::string left(input.substr(used));
    session_.stream().Consume(piece.size());
    rest_ = std::move(left);
  }
  if (error && error != http::error::need_more) {
    Fail(parser_->get(), AnswerToMalformed(error, most_body_bytes_), error.message());
    return false;
  }
  if (!done && !continued_ && parser_->is_header_done() && AsksToContinue(parser_->get())) {
    continued_ = true;
    session_.stream().Append("HTTP/1.1 100 Continue\r\n\r\n");
  }
  return done;
}

void HttpStage::OnHeader(boost::system::error_code& error) {
  const BeastRequest& request = parser_->get();
  problem_ = HeaderProblem(request, folds_);
  if (problem_) return;
  if (!Upgrades(request)) {
    stream_ = core_.router.StreamFor(request.method_string(), RawPathOf(request), request[http::field::content_type]);
  }
  problem_ = FramingProblem(request, stream_ != nullptr);
  if (problem_ || stream_ != nullptr) return;
  const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
  const std::string method(request.method_string());
  if (has_body) problem_ = core_.router.RefusalFromHead(method, RawPathOf(request));
  if (problem_) return;
  most_body_bytes_ = MostBodyBytes(core_.settings, method);
  if (parser_->content_length().value_or(0) > most_body_bytes_) error = http::error::body_limit;
  parser_->body_limit(most_body_bytes_);
  parser_->eager(true);
}

// Returns the bytes of an incomplete request, which count as held for the client's address; 0 if there are few.
size_t HttpStage::held_bytes() const {
  const size_t bytes = rest_.capacity() + (parser_ ? parser_->get().body().capacity() : 0);
  return bytes > kUncountedBytes ? bytes : 0;
}

void HttpStage::OnTooMuchHeld() { Fail(AddressHoldsTooMuch(), "its address holds too much (WEIR_MAX_ADDRESS_MB)"); }

bool HttpStage::HasWebSocketsAt(std::string_view raw_path) const {
  std::string_view mounted = core_.settings.websocket_path;
  if (mounted.ends_with('/')) mounted.remove_suffix(1);
  return raw_path == "/" || raw_path == mounted ||
         (raw_path.ends_with('/') && raw_path.substr(0, raw_path.size() - 1) == mounted);
}

void HttpStage::OnRequest() {
  session_.Charge(kRequestWork);
  if (stream_ != nullptr) return BeginStream();
  // HTTP/1.0 has no chunks, so a proxy may have passed them on and found the end of the body elsewhere.
  const bool framed_alike = parser_->get().version() >= 11 || !parser_->chunked();
  keep_alive_ = framed_alike && parser_->keep_alive();
  BeastRequest request = parser_->release();
  parser_.reset();
  deadline_ = NextDeadline();
  const IpAddress client = Client(request);
  if (Upgrades(request)) return Upgrade(request, client);
  counters_.http_requests.Add(1);
  if (request.version() >= 11 && request.count(http::field::host) != 1) return Fail(request, NoHost(), "no Host");
  if (peer_text_.empty()) peer_text_ = session_.peer().to_string();
  auto asked = ToHttpRequest(request, client == session_.peer() ? peer_text_ : client.to_string(), peer_text_);
  if (!asked) return Fail(request, BadTarget(), "bad target");
  asked->secure = IsSecure();
  // Over TLS, only the handshake chooses HTTP/2. A proxy that passed the client's upgrade on would tunnel all that
  // follows to here, past its own rules, and the client could name any address as its own.
  if (const auto settings = Http2SettingsOf(request);
      settings && !IsSecure() && !core_.proxies.Contains(session_.peer()) && UpgradeToHttp2(*settings, *asked))
    return;
  head_only_ = asked->method == "HEAD";
  if (const auto answer = Ask(*asked)) return Answer(*answer);
  waits_ = true;
}

// Returns true while the latest request has no answer. Meanwhile the client's input is not parsed.
bool HttpStage::StillWaits() {
  if (const auto answers = desk_->Take(); !answers.empty()) {
    waits_ = false;
    deadline_ = NextDeadline();
    Answer(answers.front().response);
    return false;
  }
  const boost::system::error_code error = session_.stream().input_error();
  if (session_.input_ended()) {
    desk_->HangUp();
    if (error != boost::asio::error::eof) session_.End("connection lost: " + error.message());
  }
  return true;
}

void HttpStage::BeginStream() {
  BeastRequest& request = parser_->get();
  counters_.http_requests.Add(1);
  if (request.version() >= 11 && request.count(http::field::host) != 1) return Fail(request, NoHost(), "no Host");
  auto head = ToHttpRequest(request, Client(request).to_string(), session_.peer().to_string());
  if (head) head->secure = IsSecure();
  handed_on_ = true;
  session_.SetStage(MakeStreamStage(session_, std::move(*parser_), *std::move(head), *stream_));
}

// Calls the handler, and returns its answer, or nullopt if the answer comes later.
std::optional<HttpResponse> HttpStage::Ask(HttpRequest& request) {
  if (!desk_) desk_ = std::make_shared<AnswerDesk>(session_);
  return desk_->Ask(core_.router, request, ++asked_);
}

// Returns false if HTTP/2 is not possible; the request is then answered as if it had not asked for HTTP/2.
bool HttpStage::UpgradeToHttp2(const std::string& settings, HttpRequest& request) {
  auto stage = MakeHttp2Stage(session_, settings, request);
  if (stage == nullptr) return false;
  session_.stream().Append("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  handed_on_ = true;
  session_.SetStage(std::move(stage));
  return true;
}

void HttpStage::Upgrade(const BeastRequest& request, const IpAddress& client) {
  if (!HasWebSocketsAt(RawPathOf(request))) {
    return RefuseRequest(session_, counters_.handshake_failures,
                         {.status = 404, .body = "there is no WebSocket here: it is at /\n"}, "no WebSocket there");
  }
  if (const auto problem = UpgradeProblem(request))
    return RefuseRequest(session_, counters_.handshake_failures, *problem, "not a WebSocket handshake");
  if (const Refusal refusal = session_.Settle(client); refusal != Refusal::kNone) return Refuse(refusal);
  ClientIdentity identity{
      .address = client.to_string(), .host = std::string(request[http::field::host]), .group = GroupOf(client)};
  identity.secure = IsSecure();
  if (core_.proxies.Contains(session_.peer())) {
    const std::string_view scheme = request["X-Forwarded-Proto"];
    identity.secure = identity.secure || scheme == "https" || scheme == "wss";
  }
  handed_on_ = true;
  session_.SetStage(MakeWebSocketStage(session_, request, std::move(identity)));
}

IpAddress HttpStage::Client(const BeastRequest& request) const {
  return core_.proxies.Client(session_.peer(), JoinedHeader(request, "X-Forwarded-For"),
                              JoinedHeader(request, "X-Real-IP"));
}

void HttpStage::Answer(const HttpResponse& response) {
  answered_ = true;
  session_.Charge(response.body.size() * kWrittenByteWork);
  const bool keep_alive = keep_alive_ && !core_.going.load(std::memory_order_relaxed);
  session_.stream().Append(Serialize(response, keep_alive, !head_only_));
  // The client may have sent more requests, which nobody reads any more.
  if (!keep_alive) session_.EndAfterOutput("answered", Session::Then::kLinger);
}

void HttpStage::Refuse(Refusal refusal) {
  const bool total = refusal == Refusal::kTotal;
  const std::string most =
      std::to_string(total ? core_.settings.max_connections : core_.settings.max_connections_per_address);
  (total ? counters_.refused_limit : counters_.refused_address_limit).Add(1);
  // The status is not 429, because programs take a 429 for a limit on their requests.
  HttpResponse response{.status = 503, .headers = {{"Retry-After", "10"}}};
  response.body = total ? "all the " + most +
                              " connections of this server are in use, except those kept for addresses with fewer "
                              "connections than yours; try again later\n"
                        : "your address has all the " + most + " connections that one address may have\n";
  LogLimit& log = total ? core_.logs.refused : core_.logs.address_limit;
  if (const auto line = log.Take(session_.thread().Now())) {
    spdlog::info("{}: refused, {} connections are open (WEIR_MAX_CONNECTIONS{}){}", session_.peer().to_string(), most,
                 total ? "" : "_PER_ADDRESS; behind a proxy set WEIR_TRUSTED_PROXIES", line->Suffix());
  }
  AnswerUnread(session_, response);
}

// Checks whether the client has hung up if requests were sent ahead: these are not read, so reading cannot show the
// end.
void HttpStage::NoticeEnd() {
  if (session_.stream().piece().empty() || !desk_->is_to_be_told()) return;
  if (session_.PeerHasHungUp()) desk_->HangUp();
}

void HttpStage::OnSent() {
  if (!stalled_ || session_.stream().output_bytes() > 0) return;
  stalled_ = false;
  session_.ResumeReading();
}

void HttpStage::OnTick(SteadyTime now) {
  const auto timeout = core_.settings.handshake_timeout;
  if (session_.stream().output_bytes() > 0) {
    if (now > session_.last_sent() + timeout || session_.OverShare()) {
      counters_.too_slow.Add(1);
      session_.End("the client did not take its answer");
    }
    return;
  }
  if (waits_) return desk_->has_answers() ? session_.ProcessSoon() : NoticeEnd();
  if (now <= deadline_) return;
  if (!InRequest() && (answered_ || core_.going)) return session_.EndAfterOutput("nothing more was asked");
  Fail(NotInTime(), "no whole request in time");
}

void HttpStage::OnShutdown() {
  if (waits_) return desk_->Tell(HttpLeft::kServer);
  const SteadyTime now = session_.thread().Now();
  const bool had_its_chance = answered_ || now > deadline_ - core_.settings.handshake_timeout + kLastChance;
  if (had_its_chance && !InRequest()) return session_.EndAfterOutput("the server is shutting down");
  deadline_ = std::min(deadline_, now + kLastChance);
}

}  // namespace

std::unique_ptr<Stage> MakeFirstStage(Session& session, Refusal refusal) {
  auto stage = std::make_unique<HttpStage>(session);
  if (refusal != Refusal::kNone) stage->Refuse(refusal);
  return stage;
}

}  // namespace weir
