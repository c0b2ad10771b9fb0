#include "relay/net/http2_frames.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "relay/net/http_bounds.h"
#include "relay/net/http_message.h"

namespace weir {
namespace {

void ThrowIfFailed(int64_t result) {
  if (result < 0) throw std::runtime_error(std::string("HTTP/2: ") + nghttp2_strerror(static_cast<int>(result)));
}

std::string_view Text(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }

// Returns true for a field whose value differs from answer to answer. In HPACK's table such a field would displace
// fields that repeat, and comparisons with it would be useless. Keeping such fields out of the table saves a fifth of
// the cost of a request of /rate.
bool IsOfOneAnswer(std::string_view name) {
  return name == "X-Correlation-ID" || name == "RateLimit" || name == "Retry-After";
}

// FieldBlock: the fields of a header in nghttp2's form. One block serves all headers of a connection.
class FieldBlock {
 public:
  // Makes room for the names of all fields, because the names must not move later.
  void Begin(const HttpFields& more) {
    fields_.clear();
    names_.clear();
    size_t most = 0;
    for (const auto& [name, value] : more) most += name.size();
    constexpr size_t kCommon = 64;
    names_.reserve(most + kCommon);
  }

  // Adds a field. nghttp2 copies name and value; it takes pointers to non-const but does not change the text.
  void Add(std::string_view name, std::string_view value) {
    const size_t begin = names_.size();
    for (const char c : name) names_ += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    fields_.push_back({reinterpret_cast<uint8_t*>(names_.data() + begin),
                       reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                       static_cast<uint8_t>(IsOfOneAnswer(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)});
  }

  const nghttp2_nv* data() const { return fields_.data(); }
  size_t size() const { return fields_.size(); }

 private:
  std::string names_;
  std::vector<nghttp2_nv> fields_;
};

}  // namespace

struct Http2Frames::Rep {
  using Session = std::unique_ptr<nghttp2_session, decltype(&nghttp2_session_del)>;

  Rep(Listener& l, BufferedStream& o) : listener(l), output(o), session(nullptr, &nghttp2_session_del) {}

  void Submit(int32_t id, const HttpFields& trailers) {
    block.Begin(trailers);
    for (const auto& [name, value] : trailers) block.Add(name, value);
    ThrowIfFailed(nghttp2_submit_trailer(session.get(), id, block.data(), block.size()));
  }
  void RethrowFault() {
    if (fault) std::rethrow_exception(std::exchange(fault, nullptr));
  }

  Listener& listener;
  BufferedStream& output;
  FieldBlock block;
  std::exception_ptr fault;  // the exception that the listener has thrown
  Session session;
};

struct Http2Frames::Nghttp2 {
  // Calls `function` and keeps its exception, because an exception must not pass through nghttp2.
  template <typename Function>
  static int Call(void* self, Function function) {
    Rep& rep = *static_cast<Rep*>(self);
    try {
      if constexpr (std::is_void_v<decltype(function(rep))>) {
        function(rep);
        return 0;
      } else {
        return function(rep);
      }
    } catch (...) {
      rep.fault = std::current_exception();
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static Http2Stream* StreamOf(nghttp2_session* session, int32_t id) {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int OnFrameBegin(nghttp2_session*, const nghttp2_frame_hd* header, void* self) {
    const bool is_data = header->type == NGHTTP2_DATA;
    const bool brings_something = header->type == NGHTTP2_HEADERS ||
                                  (is_data && (header->length > 0 || (header->flags & NGHTTP2_FLAG_END_STREAM) != 0));
    return Call(self, [&](Rep& rep) { rep.listener.OnFrameBegin(brings_something); });
  }

  static int OnHeaderBegin(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const int32_t id = frame->hd.stream_id;
    return Call(self, [&](Rep& rep) {
      ThrowIfFailed(nghttp2_session_set_stream_user_data(session, id, &rep.listener.OnRequestBegin(id)));
    });
  }

  static int OnField(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                     const uint8_t* value, size_t value_bytes, uint8_t, void* self) {
    Http2Stream* const stream = StreamOf(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    return Call(self, [&](Rep& rep) -> int {
      const bool wanted = rep.listener.OnField(*stream, Text(name, name_bytes), Text(value, value_bytes));
      return wanted ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    });
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if (frame->hd.type == NGHTTP2_GOAWAY) return Call(self, [](Rep& rep) { rep.listener.OnGoAway(); });
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* const stream = StreamOf(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    return Call(self, [&](Rep& rep) { rep.listener.OnPartEnd(*stream, is_last); });
  }

  static int OnBadFrame(nghttp2_session*, const nghttp2_frame* frame, int error, void* self) {
    return Call(self, [&](Rep& rep) { rep.listener.OnBadFrame(frame->hd.stream_id, nghttp2_strerror(error)); });
  }

  static int OnBody(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* self) {
    Http2Stream* const stream = StreamOf(session, id);
    if (stream == nullptr) return 0;
    return Call(self, [&](Rep& rep) { rep.listener.OnBody(*stream, Text(bytes, size)); });
  }

  static ssize_t AskForBody(nghttp2_session*, int32_t id, uint8_t*, size_t most_bytes, uint32_t* flags,
                            nghttp2_data_source* source, void* self) {
    const auto& body = *static_cast<const Http2Body*>(source->ptr);
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (body.rest() > most_bytes) return static_cast<ssize_t>(most_bytes);
    if (!body.is_whole) return body.rest() > 0 ? static_cast<ssize_t>(body.rest()) : ssize_t{NGHTTP2_ERR_DEFERRED};
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!body.trailers.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      if (const int failed = Call(self, [&](Rep& rep) { rep.Submit(id, body.trailers); }); failed != 0) return failed;
    }
    return static_cast<ssize_t>(body.rest());
  }

  static int SendBody(nghttp2_session* session, nghttp2_frame* frame, const uint8_t* header, size_t bytes,
                      nghttp2_data_source* source, void* self) {
    constexpr size_t kFrameHeaderBytes = 9;
    Http2Stream* const stream = StreamOf(session, frame->hd.stream_id);
    return Call(self, [&](Rep& rep) -> int {
      if (rep.output.output_bytes() >= kPieceBytes) return NGHTTP2_ERR_WOULDBLOCK;
      auto& body = *static_cast<Http2Body*>(source->ptr);
      rep.output.Append(Text(header, kFrameHeaderBytes));
      rep.output.Append(std::string_view(body.bytes).substr(body.sent, bytes));
      body.sent += bytes;
      if (stream != nullptr) rep.listener.OnBodySent(*stream, bytes);
      return 0;
    });
  }

  static int OnFrameSent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    const nghttp2_frame_hd& head = frame->hd;
    return Call(self, [&](Rep& rep) {
      if (head.type == NGHTTP2_GOAWAY) return rep.listener.OnGoAwaySent(CauseOf(frame->goaway));
      if (head.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
        rep.listener.OnResetSent();
      const bool is_data = head.type == NGHTTP2_DATA;
      const bool is_last = (is_data || head.type == NGHTTP2_HEADERS) && (head.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      if (is_data || is_last) rep.listener.OnAnswerSent();
      if (!is_last || nghttp2_session_get_stream_remote_close(session, head.stream_id) != 0) return;
      Http2Stream* const stream = StreamOf(session, head.stream_id);
      if (stream == nullptr || !rep.listener.OnAnsweredEarly(*stream))
        ThrowIfFailed(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, head.stream_id, NGHTTP2_NO_ERROR));
    });
  }

  static std::string CauseOf(const nghttp2_goaway& frame) {
    if (frame.error_code == NGHTTP2_NO_ERROR) return {};
    std::string cause = nghttp2_http2_strerror(frame.error_code);
    if (frame.opaque_data_len > 0) cause.append(": ").append(Text(frame.opaque_data, frame.opaque_data_len));
    return cause;
  }

  static int OnClosed(nghttp2_session* session, int32_t id, uint32_t, void* self) {
    Http2Stream* const stream = StreamOf(session, id);
    if (stream == nullptr) return 0;
    return Call(self, [&](Rep& rep) {
      ThrowIfFailed(nghttp2_session_set_stream_user_data(session, id, nullptr));
      rep.listener.OnClosed(*stream);
    });
  }

  static const nghttp2_session_callbacks* Callbacks() {
    static const nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* c = nullptr;
      ThrowIfFailed(nghttp2_session_callbacks_new(&c));
      nghttp2_session_callbacks_set_on_begin_frame_callback(c, OnFrameBegin);
      nghttp2_session_callbacks_set_on_begin_headers_callback(c, OnHeaderBegin);
      nghttp2_session_callbacks_set_on_header_callback(c, OnField);
      // Without this callback nghttp2 would skip a malformed field.
      nghttp2_session_callbacks_set_on_invalid_header_callback(
          c, [](nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t, uint8_t,
                void*) { return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE); });
      nghttp2_session_callbacks_set_on_frame_recv_callback(c, OnFrame);
      nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, OnBadFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, OnBody);
      nghttp2_session_callbacks_set_send_data_callback(c, SendBody);
      nghttp2_session_callbacks_set_on_frame_send_callback(c, OnFrameSent);
      nghttp2_session_callbacks_set_on_stream_close_callback(c, OnClosed);
      return c;
    }();
    return callbacks;
  }
};

Http2Frames::Http2Frames(Listener& listener, BufferedStream& output, uint32_t most_streams)
    : rep_(std::make_unique<Rep>(listener, output)) {
  nghttp2_session* session = nullptr;
  nghttp2_option* option = nullptr;
  ThrowIfFailed(nghttp2_option_new(&option));
  // Lifts nghttp2's own limit of 33 resets a second, because the listener counts resets with other idle frames.
  nghttp2_option_set_stream_reset_rate_limit(option, 1'000'000, 1'000'000);
  // The listener opens the windows when it has used a piece of a body, not when the piece has arrived.
  nghttp2_option_set_no_auto_window_update(option, 1);
  const int made = nghttp2_session_server_new2(&session, Nghttp2::Callbacks(), rep_.get(), option);
  nghttp2_option_del(option);
  ThrowIfFailed(made);
  rep_->session.reset(session);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMaxHeaderBytes},
                                             {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  ThrowIfFailed(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings)));
}

Http2Frames::~Http2Frames() = default;

Http2Stream* Http2Frames::Upgrade(std::string_view settings, bool head_only) {
  constexpr int32_t kFirst = 1;
  nghttp2_session* const session = rep_->session.get();
  if (nghttp2_session_upgrade2(session, reinterpret_cast<const uint8_t*>(settings.data()), settings.size(), head_only,
                               nullptr) != 0) {
    return nullptr;
  }
  Http2Stream& stream = rep_->listener.OnRequestBegin(kFirst);
  ThrowIfFailed(nghttp2_session_set_stream_user_data(session, kFirst, &stream));
  return &stream;
}

std::optional<std::string> Http2Frames::Read(std::string_view bytes) {
  const auto result =
      nghttp2_session_mem_recv(rep_->session.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  rep_->RethrowFault();
  if (result >= 0) return std::nullopt;
  return nghttp2_strerror(static_cast<int>(result));
}

Work Http2Frames::Write() {
  Work work = 0;
  while (rep_->output.output_bytes() < kPieceBytes) {
    const uint8_t* frame = nullptr;
    const auto bytes = nghttp2_session_mem_send(rep_->session.get(), &frame);
    rep_->RethrowFault();
    ThrowIfFailed(bytes);
    if (bytes == 0) break;
    rep_->output.Append(Text(frame, static_cast<size_t>(bytes)));
    work += kHttp2FrameWork;
  }
  return work;
}

Http2Stream* Http2Frames::Find(int32_t id) const { return Nghttp2::StreamOf(rep_->session.get(), id); }

void Http2Frames::Continue(int32_t id) {
  rep_->block.Begin({});
  rep_->block.Add(":status", "100");
  ThrowIfFailed(nghttp2_submit_headers(rep_->session.get(), NGHTTP2_FLAG_NONE, id, nullptr, rep_->block.data(),
                                       rep_->block.size(), nullptr));
}

void Http2Frames::Answer(int32_t id, const HttpResponse& response, Http2Body* body, bool in_pieces) {
  const std::string status = std::to_string(response.status);
  const std::string length = std::to_string(response.body.size());
  FieldBlock& block = rep_->block;
  block.Begin(response.headers);
  block.Add(":status", status);
  ForCommonHeaders(response, [&](std::string_view name, std::string_view value) { block.Add(name, value); });
  if (HasBody(response) && response.trailers.empty() && !in_pieces) block.Add("content-length", length);
  for (const auto& [name, value] : response.headers) block.Add(name, value);
  nghttp2_data_provider source{};
  source.source.ptr = body;
  source.read_callback = Nghttp2::AskForBody;
  ThrowIfFailed(nghttp2_submit_response(rep_->session.get(), id, block.data(), block.size(),
                                        body != nullptr ? &source : nullptr));
}

void Http2Frames::GoOn(int32_t id) {
  const int result = nghttp2_session_resume_data(rep_->session.get(), id);
  // nghttp2 fails with this error if the stream does not wait for more bytes, or is closed.
  if (result != NGHTTP2_ERR_INVALID_ARGUMENT) ThrowIfFailed(result);
}

void Http2Frames::Reset(int32_t id, Http2Code code) {
  ThrowIfFailed(nghttp2_submit_rst_stream(rep_->session.get(), NGHTTP2_FLAG_NONE, id, static_cast<uint32_t>(code)));
}

void Http2Frames::OpenWindow(size_t bytes) {
  ThrowIfFailed(nghttp2_session_consume_connection(rep_->session.get(), bytes));
}

void Http2Frames::OpenWindow(int32_t id, size_t bytes) {
  ThrowIfFailed(nghttp2_session_consume_stream(rep_->session.get(), id, bytes));
}

void Http2Frames::Ping() { ThrowIfFailed(nghttp2_submit_ping(rep_->session.get(), NGHTTP2_FLAG_NONE, nullptr)); }

void Http2Frames::GoAway(Http2Code code, std::string_view why) {
  nghttp2_session* const session = rep_->session.get();
  ThrowIfFailed(nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session),
                                      static_cast<uint32_t>(code), reinterpret_cast<const uint8_t*>(why.data()),
                                      why.size()));
}

bool Http2Frames::was_asked() const { return nghttp2_session_get_last_proc_stream_id(rep_->session.get()) > 0; }

bool Http2Frames::is_over() const {
  return nghttp2_session_want_read(rep_->session.get()) == 0 && nghttp2_session_want_write(rep_->session.get()) == 0;
}

size_t Http2Frames::queued_frames() const { return nghttp2_session_get_outbound_queue_size(rep_->session.get()); }

}  // namespace weir
