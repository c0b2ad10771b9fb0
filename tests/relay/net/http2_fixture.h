// Clients of HTTP/2: Http2Peer uses nghttp2 and follows the protocol; RawHttp2 sends any bytes that the test gives it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/relay/net/server_fixture.h"

namespace weir {

using Http2Fields = std::vector<std::pair<std::string, std::string>>;

struct Http2Settings {
  uint32_t stream_window = 65'535;  // flow-control window of each answer, in bytes
  bool takes_all = true;            // true: the client opens its windows again when data comes
};

// One connection; all waits end after a minute.
class Http2Peer {
 public:
  explicit Http2Peer(RawClient client, const Http2Settings& settings = {}) : client_(std::move(client)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_bytes,
                      const uint8_t* value, size_t value_bytes, uint8_t, void* self) {
          RawAnswer& answer = static_cast<Http2Peer*>(self)->streams_[frame->hd.stream_id].answer;
          const std::string key(reinterpret_cast<const char*>(name), name_bytes);
          const std::string text(reinterpret_cast<const char*>(value), value_bytes);
          if (key == ":status") answer.status = std::stoi(text);
          if (key == ":status" && answer.status == 100) ++static_cast<Http2Peer*>(self)->continues_;
          if (key != ":status") answer.headers[key] = text;
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* self) {
          static_cast<Http2Peer*>(self)->streams_[id].answer.body.append(reinterpret_cast<const char*>(bytes), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t code, void* self) {
          static_cast<Http2Peer*>(self)->streams_[id].close_code = code;
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
          if (frame->hd.type == NGHTTP2_GOAWAY) static_cast<Http2Peer*>(self)->goaway_ = frame->goaway.error_code;
          if (frame->hd.type == NGHTTP2_RST_STREAM)
            static_cast<Http2Peer*>(self)->streams_[frame->hd.stream_id].was_reset = true;
          return 0;
        });
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_auto_window_update(options, settings.takes_all ? 0 : 1);
    nghttp2_session* session = nullptr;
    nghttp2_session_client_new2(&session, callbacks, this, options);
    session_.reset(session);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.stream_window};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &entry, 1);
  }

  RawClient& client() { return client_; }
  nghttp2_session* session() { return session_.get(); }
  std::optional<uint32_t> goaway() const { return goaway_; }
  int continues() const { return continues_; }

  // Queues a request, which the next Flush sends. A body that is not `whole` never ends.
  int32_t Ask(const std::string& method, const std::string& path, const std::string& body = "",
              const Http2Fields& more = {}, bool whole = true) {
    Http2Fields fields = {{":method", method}, {":path", path}, {":scheme", "http"}};
    if (std::ranges::none_of(more, [](const auto& field) { return field.first == ":authority"; }))
      fields.emplace_back(":authority", "x");
    fields.insert(fields.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> values;
    for (auto& [name, value] : fields)
      values.push_back({reinterpret_cast<uint8_t*>(name.data()), reinterpret_cast<uint8_t*>(value.data()), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    const auto upload = std::make_shared<Upload>(Upload{body, 0, whole});
    uploads_.push_back(upload);
    nghttp2_data_provider data{};
    data.source.ptr = upload.get();
    data.read_callback = [](nghttp2_session*, int32_t, uint8_t* to, size_t most, uint32_t* flags,
                            nghttp2_data_source* source, void*) -> ssize_t {
      auto& from = *static_cast<Upload*>(source->ptr);
      const size_t bytes = std::min(most, from.body.size() - from.sent);
      if (bytes == 0 && !from.whole) return NGHTTP2_ERR_DEFERRED;
      from.body.copy(reinterpret_cast<char*>(to), bytes, from.sent);
      from.sent += bytes;
      if (from.sent == from.body.size() && from.whole) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(bytes);
    };
    const bool has_body = !body.empty() || !whole;
    const int32_t id = nghttp2_submit_request(session_.get(), nullptr, values.data(), values.size(),
                                              has_body ? &data : nullptr, nullptr);
    EXPECT_GT(id, 0);
    return id;
  }
  void Reset(int32_t id) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    Flush();
  }

  // Returns what has to be sent, as one text.
  std::string TakeOutput() {
    std::string output;
    const uint8_t* bytes = nullptr;
    for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_.get(), &bytes)) > 0;)
      output.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
    return output;
  }
  void Flush() { client_.Send(TakeOutput()); }
  // Reads and processes the next bytes. Returns false at the end of the connection.
  bool Take() {
    Flush();
    const std::string some = client_.ReadSome();
    if (some.empty()) return false;
    EXPECT_EQ(nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const uint8_t*>(some.data()), some.size()),
              static_cast<ssize_t>(some.size()));
    return true;
  }
  // Returns the whole answer on a stream; status 0 if the stream was reset or the connection ended before.
  RawAnswer Await(int32_t id) {
    // If the answer has come, the end of the request's body closes the stream without a further frame.
    for (Flush(); !streams_[id].close_code; Flush())
      if (!Take()) return {};
    return streams_[id].answer;
  }
  RawAnswer Fetch(const std::string& method, const std::string& path, const std::string& body = "",
                  const Http2Fields& more = {}) {
    return Await(Ask(method, path, body, more));
  }
  uint32_t AwaitClose(int32_t id) {
    Await(id);
    return streams_[id].close_code.value_or(UINT32_MAX);
  }
  bool WasReset(int32_t id) { return streams_[id].was_reset; }
  const RawAnswer& SoFar(int32_t id) { return streams_[id].answer; }
  // Waits for the answers one after the other, until one of them refuses its request with 503, and returns true.
  // Returns false if none does.
  bool RefusesOneOf(const std::vector<int32_t>& ids) {
    return std::ranges::any_of(ids, [this](int32_t id) {
      while (SoFar(id).status == 0 && Take()) continue;
      return SoFar(id).status == 503;
    });
  }
  // Waits for the end of the connection. Returns the code of the GOAWAY before it; nullopt if there was none.
  std::optional<uint32_t> AwaitEnd() {
    while (Take()) continue;
    return goaway_;
  }

 private:
  struct Upload {
    std::string body;
    size_t sent;
    bool whole;
  };
  struct Stream {
    RawAnswer answer;
    std::optional<uint32_t> close_code;
    bool was_reset = false;  // true if the server has reset the stream
  };
  struct Delete {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  RawClient client_;
  std::map<int32_t, Stream> streams_;
  std::vector<std::shared_ptr<Upload>> uploads_;
  std::optional<uint32_t> goaway_;
  int continues_ = 0;
  std::unique_ptr<nghttp2_session, Delete> session_;
};

// Returns a frame in the format of RFC 9113, with any content.
inline std::string Http2Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload = "") {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 255);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 255);
  return frame.append(payload);
}

inline std::string FourBytes(uint32_t value) {
  std::string text;
  for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(value >> shift & 255);
  return text;
}

inline const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// GET / of host x, in three bytes and a literal.
inline const std::string kGetBlock("\x82\x84\x86\x41\x01x", 6);

inline std::string GetFrame(uint32_t stream) {
  return Http2Frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, stream, kGetBlock);
}

struct RawHttp2Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;
};

// RawHttp2: a raw connection on which the preface and the settings were sent.
class RawHttp2 {
 public:
  explicit RawHttp2(RawClient client) : client_(std::move(client)) {
    client_.Send(kPreface + Http2Frame(NGHTTP2_SETTINGS, 0, 0));
  }
  RawClient& client() { return client_; }
  // Returns false if the connection is gone.
  bool Send(std::string_view bytes) { return client_.Send(bytes); }

  std::optional<RawHttp2Frame> Next() {
    constexpr size_t kHeader = 9;
    const auto need = [this](size_t bytes) {
      while (received_.size() < bytes) {
        const std::string some = client_.ReadSome();
        if (some.empty()) return false;
        received_ += some;
      }
      return true;
    };
    const auto byte = [this](size_t n) { return static_cast<uint8_t>(received_[n]); };
    if (!need(kHeader)) return std::nullopt;
    const size_t size = static_cast<size_t>(byte(0)) << 16 | static_cast<size_t>(byte(1)) << 8 | byte(2);
    if (!need(kHeader + size)) return std::nullopt;
    RawHttp2Frame frame{byte(3), byte(4), 0, received_.substr(kHeader, size)};
    for (size_t n = 5; n < kHeader; ++n) frame.stream = frame.stream << 8 | byte(n);
    received_.erase(0, kHeader + size);
    return frame;
  }
  // Returns the next frame of this type; nullopt if the connection ends before.
  std::optional<RawHttp2Frame> Next(uint8_t type) {
    while (auto frame = Next())
      if (frame->type == type) return frame;
    return std::nullopt;
  }
  struct End {
    std::optional<uint32_t> code;  // code of the last GOAWAY
    std::string why;
  };
  End AwaitEnd() {
    End end;
    while (const auto frame = Next(NGHTTP2_GOAWAY)) {
      end.code = static_cast<uint32_t>(static_cast<uint8_t>(frame->payload[7]));
      end.why = frame->payload.substr(8);
    }
    return end;
  }

 private:
  RawClient client_;
  std::string received_;
};

class Http2Test : public ServerTest {
 protected:
  Http2Test() {
    router_.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
    router_.Add("GET", "/echo path", [](const HttpRequest& r) {
      return HttpResponse{.body = r.method + " " + r.path + " ?" + r.query + " " + r.address + " " + r.peer + " " +
                                  std::string(r.Header("host")) + " " + std::string(r.Header("x-thing")),
                          .headers = {{"X-Answer", "yes"}}};
    });
    router_.Add("POST", "/take", [](const HttpRequest& r) { return HttpResponse{.status = 201, .body = r.body}; });
    router_.Add("GET", "/big", [](const HttpRequest& r) {
      return HttpResponse{.body = std::string(r.query.empty() ? 1'000'000 : std::stoul(r.query), 'b')};
    });
    router_.Add("GET", "/empty", [](const HttpRequest&) { return HttpResponse{.status = 204}; });
    router_.Add("GET", "/fault", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("secret"); });
    router_.AddDeferred("GET", "/later", [this](const HttpRequest& r, const HttpReply& reply) {
      reply.OnLeft([this, query = r.query, reply](HttpLeft why) {
        record_.Add("told " + query + (why == HttpLeft::kClient ? " client" : " server"));
        reply({.status = 503, .body = "left"});
      });
      const std::lock_guard lock(mutex_);
      replies_.emplace(r.query, reply);
      record_.Add("asked " + r.query);
    });
  }
  ~Http2Test() override { server_.reset(); }

  Http2Peer Peer(const Http2Settings& settings = {}) { return Http2Peer(Connect(), settings); }
  RawHttp2 Raw() { return RawHttp2(Connect()); }
  void Reply(const std::string& name, const std::string& body) {
    std::optional<HttpReply> reply;
    {
      const std::lock_guard lock(mutex_);
      const auto found = replies_.find(name);
      ASSERT_NE(found, replies_.end());
      reply = found->second;
      replies_.erase(found);
    }
    (*reply)({.body = body});
  }
  // Checks that the server still serves other connections.
  void ExpectService() {
    Http2Peer other = Peer();
    EXPECT_EQ(other.Fetch("GET", "/").body, "landing");
  }

  std::mutex mutex_;
  std::multimap<std::string, HttpReply> replies_;
};

}  // namespace weir
