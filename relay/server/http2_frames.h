// The frames of one connection of HTTP/2, read and written. nghttp2 knows them, and is known nowhere else.
//
// All on the connection's I/O thread. What nghttp2 finds goes to the Listener, who may call back whatever is said here
// but Read and Write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/account/work.h"
#include "relay/server/buffered_stream.h"
#include "relay/server/http.h"

namespace weir {

// A frame parsed or written.
inline constexpr Work kHttp2FrameWork = 200;

// Why a stream or a connection ends, as RFC 9113 numbers it.
enum class Http2Code : uint32_t { kNone = 0, kProtocol = 1, kInternal = 2, kCancel = 8, kCalm = 11 };

// The body of an answer and what follows it, until the frames have taken it.
struct Http2Body {
  std::string bytes;
  size_t sent = 0;
  HttpFields trailers;
  bool is_whole = true;  // no more comes

  size_t rest() const { return bytes.size() - sent; }
};

// Of the listener, who says at OnRequestBegin which it is.
struct Http2Stream;

class Http2Frames {
 public:
  // What it throws comes out of Read and Write.
  class Listener {
   public:
    virtual void OnFrameBegin(bool brings_something) = 0;
    virtual Http2Stream& OnRequestBegin(int32_t id) = 0;
    // False: the rest of this header is not wanted, and the stream is reset.
    virtual bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
    // A header is whole, or a frame of a body.
    virtual void OnPartEnd(Http2Stream& stream, bool is_last) = 0;
    virtual void OnBody(Http2Stream& stream, std::string_view piece) = 0;
    virtual void OnBadFrame(int32_t id, std::string_view why) = 0;
    virtual void OnBodySent(Http2Stream& stream, size_t bytes) = 0;
    // Some of an answer was sent.
    virtual void OnAnswerSent() = 0;
    virtual void OnResetSent() = 0;
    // The whole answer was sent, and the request is not whole. False: it is reset at once, with no error.
    virtual bool OnAnsweredEarly(Http2Stream& stream) = 0;
    // The cause is empty where all went well.
    virtual void OnGoAwaySent(const std::string& cause) = 0;
    // The client will ask no more.
    virtual void OnGoAway() = 0;
    virtual void OnClosed(Http2Stream& stream) = 0;

   protected:
    ~Listener() = default;
  };

  // Both outlive it; neither hears of its end.
  Http2Frames(Listener& listener, BufferedStream& output, uint32_t most_streams);
  ~Http2Frames();
  Http2Frames(const Http2Frames&) = delete;
  Http2Frames& operator=(const Http2Frames&) = delete;

  // A request that came over HTTP/1.1 is stream 1. Null: the settings are none.
  Http2Stream* Upgrade(std::string_view settings, bool head_only);
  // Returns why the connection cannot go on, where it cannot.
  std::optional<std::string> Read(std::string_view bytes);
  // As much as the output has room for. Returns what that cost.
  Work Write();

  // Null where there is none any more.
  Http2Stream* Find(int32_t id) const;

  // The interim answer 100.
  void Continue(int32_t id);
  // Its header, and then the body where one is given, which stays in its place until the stream is closed. `in_pieces`:
  // nobody knows yet how long it becomes.
  void Answer(int32_t id, const HttpResponse& response, Http2Body* body, bool in_pieces = false);
  // There is more of a body that was not whole, or it is now.
  void GoOn(int32_t id);
  void Reset(int32_t id, Http2Code code);
  // Opens the windows again by what was taken of bodies: the connection's, and the stream's.
  void OpenWindow(size_t bytes);
  void OpenWindow(int32_t id, size_t bytes);
  void Ping();
  void GoAway(Http2Code code, std::string_view why);

  // Whether any request came.
  bool was_asked() const;
  // Nothing more is to come or to go.
  bool is_over() const;
  size_t queued_frames() const;

 private:
  struct Nghttp2;  // what it calls, and what is handed to it
  struct Rep;

  const std::unique_ptr<Rep> rep_;
};

}  // namespace weir
