#include "relay/server/http2_stage.h"

#include <nghttp2/nghttp2.h>
#include <spdlog/spdlog.h>
#include <strings.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "relay/server/http_bounds.h"
#include "relay/server/http_message.h"
#include "relay/server/io_thread.h"
#include "relay/server/last_answer.h"
#include "relay/server/owed_answer.h"
#include "relay/server/session.h"

namespace weir {
namespace {

constexpr uint32_t kMostStreams = 128;
// Bytes that nghttp2 is given at once: it does not stop before their end.
constexpr size_t kSliceBytes = 4096;
// What is behind kMaxHeaderBytes is looked at and dropped, and beyond this the connection ends: one byte can stand for
// a field of 4 KB.
constexpr size_t kMostDroppedHeaderBytes = 4 * size_t{kMaxHeaderBytes};
// In a second, of frames that ask for nothing and bring nothing: resets of either side, pings, settings, priorities,
// windows, empty ones; unknown ones nghttp2 skips. A frame of an answer gives some back.
constexpr uint32_t kMostIdleFrames = 1000;
constexpr uint32_t kIdleFramesOfAnswer = 4;
// Answers' bodies that wait for the client or its windows: requests are answered when it has taken some.
constexpr size_t kMostQueuedBytes = size_t{64} << 10;
// Frames that wait to be sent, these bodies aside; more is not read meanwhile.
constexpr size_t kMostQueuedFrames = 512;
// Of a stream that waits, here and in nghttp2.
constexpr size_t kStreamBytes = 1024;
// A frame parsed or written; a field of a header; a request and its answer, whatever the handler does.
constexpr Work kHttp2FrameWork = 200;
constexpr Work kFieldWork = 100;
constexpr Work kStreamWork = 4'000;

struct Http2Stream {
  enum class State : uint8_t { kHeader, kBody, kWhole, kAsked, kAnswered };

  const int32_t id;
  std::list<Http2Stream>::iterator place;
  HttpRequest request;  // until it was asked
  SteadyTime begin;
  std::string answer;  // its body
  size_t sent = 0;     // of that
  std::vector<std::pair<std::string, std::string>> trailers;
  size_t header_bytes = 0;
  size_t held_bytes = 0;
  State state = State::kHeader;
  bool head_only = false;
  bool has_two_hosts = false;
};

void ThrowIfFailed(int64_t result) {
  if (result < 0) throw std::runtime_error(std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(result)));
}

// All values of a header, joined as one list.
std::string JoinedHeader(const HttpRequest& request, std::string_view lower_case_name) {
  std::string joined;
  for (const auto& [name, value] : request.headers) {
    if (name != lower_case_name) continue;
    if (!joined.empty()) joined += ',';
    joined += value;
  }
  return joined;
}

class Http2Stage final : public Stage {
 public:
  explicit Http2Stage(Session& session);
  ~Http2Stage() override { desk_->Leave(); }
  bool BeginWith(std::string_view settings, HttpRequest& request);
  void Receive(std::string_view bytes);

  void OnInput() override;
  Work Produce() override;
  void OnSent() override;
  size_t queued_bytes() const override { return queued_bytes_; }
  size_t held_bytes() const override { return held_bytes_ > kUncountedBytes ? held_bytes_ : 0; }
  void OnTooMuchHeld() override;
  void OnTick(SteadyTime now) override;
  void OnShutdown() override;
  void OnEnd(std::string_view cause) override { spdlog::debug("{}: HTTP/2 ended: {}", peer_, cause); }

 private:
  using Frames = std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)>;
  using State = Http2Stream::State;

  static const nghttp2_session_callbacks* Callbacks();
  static Frames MakeFrames(Http2Stage* stage);
  template <typename Function>
  static int Call(void* self, Function function);

  // What nghttp2 calls.
  void OnFrameBegin(const nghttp2_frame_hd& header);
  void OnHeaderBegin(const nghttp2_frame& frame);
  int OnField(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  void OnFrame(const nghttp2_frame& frame);
  void OnBadFrame(const nghttp2_frame& frame, int error);
  void OnBody(int32_t id, std::string_view piece);
  int SendBody(Http2Stream& stream, std::string_view frame_header, size_t bytes);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnClosed(int32_t id);

  Http2Stream& Open(int32_t id);
  Http2Stream* Find(int32_t id) const {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(frames_.get(), id));
  }
  static void TakeHost(Http2Stream& stream, std::string_view value);
  void OnHead(Http2Stream& stream, bool has_body);
  std::optional<HttpResponse> HeadProblem(Http2Stream& stream, bool has_body) const;
  void OnWhole(Http2Stream& stream);
  void Ask(Http2Stream& stream);
  void Answer(Http2Stream& stream, HttpResponse response);
  void Refuse(Http2Stream& stream, const HttpResponse& response, std::string_view what);
  void Submit(Http2Stream& stream, const HttpResponse& response);
  void SubmitTrailers(const Http2Stream& stream);
  using HttpFields = std::vector<std::pair<std::string, std::string>>;
  void BeginFields(const HttpFields& more);
  void AddField(std::string_view name, std::string_view value);
  void NoteHeld(Http2Stream& stream);
  void CountIdleFrame();
  void GoAway(uint32_t code, std::string_view why);
  void Break(std::string_view why, uint32_t code = NGHTTP2_ENHANCE_YOUR_CALM);
  SteadyTime NextDeadline() { return session_.thread().Now() + core_.settings.handshake_timeout; }

  Session& session_;
  ServerCore& core_;
  ThreadCounters& counters_;
  const std::string peer_;
  const std::shared_ptr<AnswerDesk> desk_;
  std::list<Http2Stream> streams_;  // outlive the frames, whose end closes none of them
  std::exception_ptr fault_;        // in what nghttp2 called
  Frames frames_;
  std::deque<int32_t> whole_;  // requests, some of which may be gone
  size_t queued_bytes_ = 0;    // of answers' bodies
  size_t held_bytes_ = 0;
  SteadyTime deadline_;   // while there are no streams
  SteadyTime last_data_;  // taken from what is queued
  SteadyTime second_;     // in which idle frames are counted
  uint32_t idle_frames_ = 0;
  std::string cause_;  // of a GOAWAY of ours
  bool broken_ = false;
  bool gone_away_ = false;
  bool stalled_ = false;
  std::string names_;  // of an answer's headers, while it is handed over
  std::vector<nghttp2_nv> fields_;
};

// Nothing may be thrown through nghttp2.
template <typename Function>
int Http2Stage::Call(void* self, Function function) {
  auto& stage = *static_cast<Http2Stage*>(self);
  try {
    return function(stage);
  } catch (...) {
    stage.fault_ = std::current_exception();
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

const nghttp2_session_callbacks* Http2Stage::Callbacks() {
  static const nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* c = nullptr;
    ThrowIfFailed(nghttp2_session_callbacks_new(&c));
    nghttp2_session_callbacks_set_on_begin_frame_callback(
        c, [](nghttp2_session*, const nghttp2_frame_hd* header, void* self) {
          return Call(self, [&](Http2Stage& s) { return s.OnFrameBegin(*header), 0; });
        });
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        c, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          return Call(self, [&](Http2Stage& s) { return s.OnHeaderBegin(*frame), 0; });
        });
    nghttp2_session_callbacks_set_on_header_callback(
        c, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
              const uint8_t* value, size_t value_bytes, uint8_t, void* self) {
          return Call(self, [&](Http2Stage& s) {
            return s.OnField(*frame, {reinterpret_cast<const char*>(name), name_bytes},
                             {reinterpret_cast<const char*>(value), value_bytes});
          });
        });
    // Without this a field that is not well-formed would be passed over.
    nghttp2_session_callbacks_set_on_invalid_header_callback(
        c, [](nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t, uint8_t, void*) {
          return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        c, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          return Call(self, [&](Http2Stage& s) { return s.OnFrame(*frame), 0; });
        });
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
        c, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* self) {
          return Call(self, [&](Http2Stage& s) { return s.OnBadFrame(*frame, error), 0; });
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, [](nghttp2_session*, uint8_t, int32_t id,
                                                                    const uint8_t* bytes, size_t size, void* self) {
      return Call(self, [&](Http2Stage& s) { return s.OnBody(id, {reinterpret_cast<const char*>(bytes), size}), 0; });
    });
    nghttp2_session_callbacks_set_send_data_callback(c, [](nghttp2_session*, nghttp2_frame*, const uint8_t* header,
                                                           size_t bytes, nghttp2_data_source* source, void* self) {
      return Call(self, [&](Http2Stage& s) {
        constexpr size_t kFrameHeaderBytes = 9;
        return s.SendBody(*static_cast<Http2Stream*>(source->ptr),
                          {reinterpret_cast<const char*>(header), kFrameHeaderBytes}, bytes);
      });
    });
    nghttp2_session_callbacks_set_on_frame_send_callback(
        c, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          return Call(self, [&](Http2Stage& s) { return s.OnFrameSent(*frame), 0; });
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(c, [](nghttp2_session*, int32_t id, uint32_t, void* self) {
      return Call(self, [&](Http2Stage& s) { return s.OnClosed(id), 0; });
    });
    return c;
  }();
  return callbacks;
}

Http2Stage::Frames Http2Stage::MakeFrames(Http2Stage* stage) {
  nghttp2_session* session = nullptr;
  nghttp2_option* option = nullptr;
  ThrowIfFailed(nghttp2_option_new(&option));
  // CountIdleFrame counts resets with the rest; nghttp2 would end the connection at 33 a second.
  nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000, 1'000'000);
  const int made = nghttp2_session_server_new2(&session, Callbacks(), stage, option);
  nghttp2_option_del(option);
  ThrowIfFailed(made);
  return {session, &nghttp2_session_del};
}

Http2Stage::Http2Stage(Session& session)
    : session_(session),
      core_(session.thread().core()),
      counters_(session.thread().counters()),
      peer_(session.peer().to_string()),
      desk_(std::make_shared<AnswerDesk>(session)),
      frames_(MakeFrames(this)),
      deadline_(NextDeadline()),
      second_(session.thread().Now()) {
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kMostStreams},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderBytes},
                                             {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  ThrowIfFailed(nghttp2_submit_settings(frames_.get(), NGHTTP2_FLAG_NONE, settings, std::size(settings)));
  if (core_.going.load(std::memory_order_relaxed)) OnShutdown();
}

bool Http2Stage::BeginWith(std::string_view settings, HttpRequest& request) {
  if (nghttp2_session_upgrade2(frames_.get(), reinterpret_cast<const uint8_t*>(settings.data()), settings.size(),
                               request.method == "HEAD", nullptr) != 0) {
    return false;
  }
  Http2Stream& stream = Open(1);
  stream.request = std::move(request);
  stream.request.over_http2 = true;
  stream.head_only = stream.request.method == "HEAD";
  stream.state = State::kWhole;
  whole_.push_back(stream.id);
  return true;
}

void Http2Stage::OnInput() {
  for (AnswerDesk::Answer& answer : desk_->Take())
    if (Http2Stream* stream = Find(static_cast<int32_t>(answer.number))) Answer(*stream, std::move(answer.response));
  while (!session_.ended() && !broken_) {
    if (session_.turn_is_over()) return;
    if (!whole_.empty() && queued_bytes_ <= kMostQueuedBytes) {
      Http2Stream* stream = Find(whole_.front());
      whole_.pop_front();
      if (stream != nullptr && stream->state == State::kWhole) Ask(*stream);
      continue;
    }
    if (!stalled_ && nghttp2_session_get_outbound_queue_size(frames_.get()) > kMostQueuedFrames) {
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
  if (error != boost::asio::error::eof) session_.End("connection lost: " + error.message());
}

void Http2Stage::Receive(std::string_view bytes) {
  session_.Charge(bytes.size() * kParsedByteWork);
  const auto result =
      nghttp2_session_mem_recv(frames_.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
  if (result < 0) Break(nghttp2_strerror(static_cast<int>(result)), NGHTTP2_PROTOCOL_ERROR);
}

void Http2Stage::OnFrameBegin(const nghttp2_frame_hd& header) {
  session_.Charge(kHttp2FrameWork);
  const bool brings_something = header.type == NGHTTP2_HEADERS || (header.type == NGHTTP2_DATA && header.length > 0) ||
                                (header.type == NGHTTP2_DATA && (header.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  if (!brings_something) CountIdleFrame();
}

void Http2Stage::CountIdleFrame() {
  if (++idle_frames_ > kMostIdleFrames) Break("too many frames that ask for nothing");
}

Http2Stream& Http2Stage::Open(int32_t id) {
  streams_.push_back({.id = id, .place = {}, .request = {}, .begin = session_.thread().Now(), .answer = {}});
  Http2Stream& stream = streams_.back();
  stream.place = std::prev(streams_.end());
  stream.request.over_http2 = true;
  NoteHeld(stream);
  ThrowIfFailed(nghttp2_session_set_stream_user_data(frames_.get(), id, &stream));
  return stream;
}

void Http2Stage::OnHeaderBegin(const nghttp2_frame& frame) {
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) Open(frame.hd.stream_id);
}

int Http2Stage::OnField(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  Http2Stream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  session_.Charge(kFieldWork + (name.size() + value.size()) * kParsedByteWork);
  constexpr size_t kBesides = 32;  // as SETTINGS_MAX_HEADER_LIST_SIZE counts
  stream->header_bytes += name.size() + value.size() + kBesides;
  if (stream->header_bytes > kMostDroppedHeaderBytes) {
    Break("a header far too long");
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (stream->header_bytes > kMaxHeaderBytes || stream->state != State::kHeader) return 0;
  HttpRequest& request = stream->request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.raw_path = value;
  } else if (name == ":authority" || name == "host") {
    TakeHost(*stream, value);
  } else if (!name.starts_with(':')) {
    request.headers.emplace_back(name, value);
  }
  return 0;
}

// It is said in one way, or in both alike.
void Http2Stage::TakeHost(Http2Stream& stream, std::string_view value) {
  const std::string_view known = stream.request.Header("host");
  if (known.empty() && !value.empty()) stream.request.headers.emplace_back("host", value);
  const bool is_alike = known.size() == value.size() && strncasecmp(known.data(), value.data(), known.size()) == 0;
  stream.has_two_hosts = !known.empty() && !is_alike;
}

void Http2Stage::OnFrame(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  Http2Stream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return;
  const bool is_last = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (stream->state == State::kHeader) OnHead(*stream, !is_last);
  if (is_last && stream->state == State::kBody) OnWhole(*stream);
}

void Http2Stage::OnBadFrame(const nghttp2_frame& frame, int error) {
  NoteRefusal(session_, counters_.http_errors, 400,
              "stream " + std::to_string(frame.hd.stream_id) + ": " + nghttp2_strerror(error));
}

void Http2Stage::OnHead(Http2Stream& stream, bool has_body) {
  stream.state = State::kBody;
  stream.head_only = stream.request.method == "HEAD";
  if (const auto problem = HeadProblem(stream, has_body))
    return Refuse(stream, *problem, "what its header asks for is refused");
  NoteHeld(stream);
  if (!has_body || stream.request.Header("expect") != "100-continue") return;
  std::string name = ":status";
  std::string value = "100";
  const nghttp2_nv go_on{reinterpret_cast<uint8_t*>(name.data()), reinterpret_cast<uint8_t*>(value.data()), name.size(),
                         value.size(), NGHTTP2_NV_FLAG_NONE};
  ThrowIfFailed(nghttp2_submit_headers(frames_.get(), NGHTTP2_FLAG_NONE, stream.id, nullptr, &go_on, 1, nullptr));
}

std::optional<HttpResponse> Http2Stage::HeadProblem(Http2Stream& stream, bool has_body) const {
  HttpRequest& request = stream.request;
  const std::string target = std::move(request.raw_path);
  const bool is_well_formed = SetTarget(request, std::string_view(target).substr(0, target.find('#')));
  if (stream.header_bytes > kMaxHeaderBytes) return HeaderTooLong();
  if (stream.has_two_hosts) return TwoHosts();
  if (!is_well_formed) return BadTarget();
  if (core_.router.StreamFor(request.method, request.raw_path) != nullptr)
    return HttpResponse{.status = 505,
                        .body = "what is here goes in pieces, over HTTP/1.1 alone: ask again with that\n"};
  if (!has_body) return std::nullopt;
  if (auto refusal = core_.router.RefusalFromHead(request.method, request.raw_path)) return refusal;
  const uint64_t most = MostBodyBytes(core_.settings, request.method);
  const auto announced = ParseUnsigned(request.Header("content-length"), {.min = 0, .max = 1e18});
  if (announced.ok() && announced.value() > most) return BodyTooLong(most);
  return std::nullopt;
}

void Http2Stage::OnBody(int32_t id, std::string_view piece) {
  Http2Stream* const stream = Find(id);
  if (stream == nullptr || stream->state != State::kBody) return;
  std::string& body = stream->request.body;
  const uint64_t most = MostBodyBytes(core_.settings, stream->request.method);
  if (body.size() + piece.size() > most) return Refuse(*stream, BodyTooLong(most), "its body is too long");
  body += piece;
  NoteHeld(*stream);
}

void Http2Stage::OnWhole(Http2Stream& stream) {
  HttpRequest& request = stream.request;
  const IpAddress client = core_.proxies.Client(session_.peer(), JoinedHeader(request, "x-forwarded-for"),
                                                JoinedHeader(request, "x-real-ip"));
  request.address = client == session_.peer() ? peer_ : client.to_string();
  request.peer = peer_;
  request.secure = session_.stream().tls() != nullptr;
  counters_.http_requests.Add(1);
  stream.state = State::kWhole;
  whole_.push_back(stream.id);
}

void Http2Stage::Ask(Http2Stream& stream) {
  session_.Charge(kStreamWork);
  stream.state = State::kAsked;
  auto answer = desk_->Ask(core_.router, stream.request, static_cast<uint64_t>(stream.id));
  stream.request = HttpRequest();
  NoteHeld(stream);
  if (answer) Answer(stream, *std::move(answer));
  if (core_.going.load(std::memory_order_relaxed)) GoAway(NGHTTP2_NO_ERROR, "the server is going");
}

void Http2Stage::Answer(Http2Stream& stream, HttpResponse response) {
  stream.state = State::kAnswered;
  Submit(stream, response);
  if (stream.head_only || !HasBody(response)) return;
  if (queued_bytes_ == 0) last_data_ = session_.thread().Now();
  queued_bytes_ += response.body.size();
  stream.answer = std::move(response.body);
  stream.trailers = std::move(response.trailers);
}

void Http2Stage::Refuse(Http2Stream& stream, const HttpResponse& response, std::string_view what) {
  NoteRefusal(session_, counters_.http_errors, response.status, what);
  Answer(stream, core_.router.Worded(stream.request, response));
  stream.request = HttpRequest();
  NoteHeld(stream);
}

// Room for the names of all fields of a block, which must not move.
void Http2Stage::BeginFields(const HttpFields& more) {
  fields_.clear();
  names_.clear();
  size_t most = 0;
  for (const auto& [name, value] : more) most += name.size();
  constexpr size_t kCommon = 64;
  names_.reserve(most + kCommon);
}

// Whether the next answer will have another value: in the table of HPACK it would only push out what comes again, and
// be compared with in vain. A fifth of what a request of /rate costs.
bool IsOfOneAnswer(std::string_view name) {
  return name == "X-Correlation-ID" || name == "RateLimit" || name == "Retry-After";
}

void Http2Stage::AddField(std::string_view name, std::string_view value) {
  const size_t begin = names_.size();
  for (const char c : name) names_ += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  // nghttp2 copies both, and asks for pointers to what it does not change.
  fields_.push_back({reinterpret_cast<uint8_t*>(names_.data() + begin),
                     reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                     static_cast<uint8_t>(IsOfOneAnswer(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)});
}

void Http2Stage::SubmitTrailers(const Http2Stream& stream) {
  BeginFields(stream.trailers);
  for (const auto& [name, value] : stream.trailers) AddField(name, value);
  ThrowIfFailed(nghttp2_submit_trailer(frames_.get(), stream.id, fields_.data(), fields_.size()));
}

void Http2Stage::Submit(Http2Stream& stream, const HttpResponse& response) {
  const std::string status = std::to_string(response.status);
  const std::string length = std::to_string(response.body.size());
  BeginFields(response.headers);
  AddField(":status", status);
  ForCommonHeaders(response, [this](std::string_view name, std::string_view value) { AddField(name, value); });
  if (HasBody(response) && response.trailers.empty()) AddField("content-length", length);
  for (const auto& [name, value] : response.headers) AddField(name, value);
  const bool with_body = HasBody(response) && !stream.head_only && !response.body.empty();
  nghttp2_data_provider body{};
  body.source.ptr = &stream;
  body.read_callback = [](nghttp2_session*, int32_t, uint8_t*, size_t most_bytes, uint32_t* flags,
                          nghttp2_data_source* source, void* self) {
    const auto& one = *static_cast<const Http2Stream*>(source->ptr);
    const size_t rest = one.answer.size() - one.sent;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (rest <= most_bytes) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (rest <= most_bytes && !one.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      if (const int failed = Call(self, [&](Http2Stage& s) { return s.SubmitTrailers(one), 0; }); failed != 0)
        return static_cast<ssize_t>(failed);
    }
    return static_cast<ssize_t>(std::min(rest, most_bytes));
  };
  ThrowIfFailed(
      nghttp2_submit_response(frames_.get(), stream.id, fields_.data(), fields_.size(), with_body ? &body : nullptr));
  session_.FlushSoon();
}

int Http2Stage::SendBody(Http2Stream& stream, std::string_view frame_header, size_t bytes) {
  BufferedStream& output = session_.stream();
  if (output.output_bytes() >= kPieceBytes) return NGHTTP2_ERR_WOULDBLOCK;
  session_.Charge(kHttp2FrameWork);
  output.Append(frame_header);
  output.Append(std::string_view(stream.answer).substr(stream.sent, bytes));
  stream.sent += bytes;
  queued_bytes_ -= bytes;
  last_data_ = session_.thread().Now();
  return 0;
}

Work Http2Stage::Produce() {
  BufferedStream& output = session_.stream();
  Work work = 0;
  while (output.output_bytes() < kPieceBytes) {
    const uint8_t* frame = nullptr;
    const auto bytes = nghttp2_session_mem_send(frames_.get(), &frame);
    if (fault_) std::rethrow_exception(std::exchange(fault_, nullptr));
    ThrowIfFailed(bytes);
    if (bytes == 0) break;
    output.Append({reinterpret_cast<const char*>(frame), static_cast<size_t>(bytes)});
    work += kHttp2FrameWork;
  }
  return work;
}

void Http2Stage::OnFrameSent(const nghttp2_frame& frame) {
  const int32_t id = frame.hd.stream_id;
  if (frame.hd.type == NGHTTP2_GOAWAY) {
    gone_away_ = true;
    if (frame.goaway.error_code == NGHTTP2_NO_ERROR) return;
    cause_ = nghttp2_http2_strerror(frame.goaway.error_code);
    if (frame.goaway.opaque_data_len > 0)
      cause_.append(": ").append(reinterpret_cast<const char*>(frame.goaway.opaque_data), frame.goaway.opaque_data_len);
    counters_.http_errors.Add(1);
    if (const auto line = core_.logs.handshake.Take(session_.thread().Now()))
      spdlog::info("{}: HTTP/2 ended, {}{}", peer_, cause_, line->Suffix());
    return;
  }
  // A client can have its streams reset by us as well.
  if (frame.hd.type == NGHTTP2_RST_STREAM && frame.rst_stream.error_code != NGHTTP2_NO_ERROR) CountIdleFrame();
  const bool is_data = frame.hd.type == NGHTTP2_DATA;
  const bool is_last = (is_data || frame.hd.type == NGHTTP2_HEADERS) && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (is_data || is_last) idle_frames_ -= std::min(idle_frames_, kIdleFramesOfAnswer);
  // What follows of a request that was answered is not wanted.
  if (is_last && nghttp2_session_get_stream_remote_close(frames_.get(), id) == 0)
    ThrowIfFailed(nghttp2_submit_rst_stream(frames_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR));
}

void Http2Stage::OnClosed(int32_t id) {
  Http2Stream* const stream = Find(id);
  if (stream == nullptr) return;
  if (stream->state == State::kAsked) desk_->Leave(static_cast<uint64_t>(id));
  queued_bytes_ -= stream->answer.size() - stream->sent;
  held_bytes_ -= stream->held_bytes;
  streams_.erase(stream->place);
  ThrowIfFailed(nghttp2_session_set_stream_user_data(frames_.get(), id, nullptr));
  if (streams_.empty()) deadline_ = NextDeadline();
}

void Http2Stage::OnSent() {
  if (stalled_ && session_.stream().output_bytes() == 0) {
    stalled_ = false;
    session_.ResumeReading();
  }
  if (!whole_.empty() && queued_bytes_ <= kMostQueuedBytes) session_.ProcessSoon();
  const bool is_over = nghttp2_session_want_read(frames_.get()) == 0 && nghttp2_session_want_write(frames_.get()) == 0;
  if (is_over || (broken_ && gone_away_))
    return session_.EndAfterOutput(cause_.empty() ? "the client has ended it" : cause_, Session::Then::kLinger);
  if (session_.input_ended() && streams_.empty()) session_.EndAfterOutput("the client hung up");
}

void Http2Stage::NoteHeld(Http2Stream& stream) {
  const bool has_request = stream.state < State::kAsked;
  const size_t request = std::min<size_t>(stream.header_bytes, kMaxHeaderBytes) + stream.request.body.capacity();
  const size_t bytes = kStreamBytes + (has_request ? request : 0);
  held_bytes_ += bytes - std::exchange(stream.held_bytes, bytes);
}

void Http2Stage::OnTooMuchHeld() {
  for (Http2Stream& stream : streams_)
    if (stream.state == State::kBody || stream.state == State::kWhole)
      Refuse(stream, AddressHoldsTooMuch(), "its address holds too much (WEIR_MAX_ADDRESS_MB)");
}

// Requests that are on their way are not looked at any more: the client knows it, and may ask elsewhere.
void Http2Stage::GoAway(uint32_t code, std::string_view why) {
  if (!cause_.empty() && code == NGHTTP2_NO_ERROR) return;
  cause_ = why;
  ThrowIfFailed(nghttp2_submit_goaway(frames_.get(), NGHTTP2_FLAG_NONE,
                                      nghttp2_session_get_last_proc_stream_id(frames_.get()), code,
                                      reinterpret_cast<const uint8_t*>(why.data()), why.size()));
  session_.FlushSoon();
}

void Http2Stage::Break(std::string_view why, uint32_t code) {
  if (!std::exchange(broken_, true)) GoAway(code, why);
}

void Http2Stage::OnTick(SteadyTime now) {
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    idle_frames_ = 0;
  }
  const auto timeout = core_.settings.handshake_timeout;
  const bool is_late = session_.stream().output_bytes() > 0 ? now > session_.last_sent() + timeout
                                                            : queued_bytes_ > 0 && now > last_data_ + timeout;
  if (is_late || session_.OverShare()) {
    counters_.too_slow.Add(1);
    return session_.End("the client did not take its answer");
  }
  for (Http2Stream& stream : streams_) {
    if (stream.state > State::kBody || now <= stream.begin + timeout) continue;
    if (stream.state == State::kHeader) return Break("no whole header in time");
    Refuse(stream, NotInTime(), "no whole request in time");
  }
  if (streams_.empty() && now > deadline_) GoAway(NGHTTP2_NO_ERROR, "nothing more was asked");
}

void Http2Stage::OnShutdown() {
  if (nghttp2_session_get_last_proc_stream_id(frames_.get()) > 0 || !streams_.empty()) {
    desk_->Tell(HttpLeft::kServer);
    return GoAway(NGHTTP2_NO_ERROR, "the server is going");
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
