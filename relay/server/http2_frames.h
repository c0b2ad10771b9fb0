// Reads and writes the frames of one HTTP/2 connection, by nghttp2, which is used nowhere else.
//
// Everything runs on the connection's I/O thread. The Listener is told what nghttp2 finds; it may call any function
// here but Read and Write.
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

// Defined by the listener, whose OnRequestBegin returns it.
struct Http2Stream;

class Http2Frames {
 public:
  // An exception from it comes out of Read and Write.
  class Listener {
   public:
    virtual void OnFrameBegin(bool brings_something) = 0;
    virtual Http2Stream& OnRequestBegin(int32_t id) = 0;
    // Returns false if the rest of this header is not wanted; then the stream is reset.
    virtual bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
    // A header or a frame of a body is whole.
    virtual void OnPartEnd(Http2Stream& stream, bool is_last) = 0;
    virtual void OnBody(Http2Stream& stream, std::string_view piece) = 0;
    virtual void OnBadFrame(int32_t id, std::string_view why) = 0;
    virtual void OnBodySent(Http2Stream& stream, size_t bytes) = 0;
    // Some of an answer was sent.
    virtual void OnAnswerSent() = 0;
    virtual void OnResetSent() = 0;
    // The whole answer was sent, and the request is not whole. If it returns false, the stream is reset at once, with
    // no error.
    virtual bool OnAnsweredEarly(Http2Stream& stream) = 0;
    // The cause is empty if all went well.
    virtual void OnGoAwaySent(const std::string& cause) = 0;
    // The client will ask no more.
    virtual void OnGoAway() = 0;
    virtual void OnClosed(Http2Stream& stream) = 0;

   protected:
    ~Listener() = default;
  };

  // Both must outlive it; it tells neither of its end.
  Http2Frames(Listener& listener, BufferedStream& output, uint32_t most_streams);
  ~Http2Frames();
  Http2Frames(const Http2Frames&) = delete;
  Http2Frames& operator=(const Http2Frames&) = delete;

  // Makes a request that came over HTTP/1.1 stream 1. Returns null if the settings are malformed.
  Http2Stream* Upgrade(std::string_view settings, bool head_only);
  // Returns why the connection cannot go on, or nullopt if it can.
  std::optional<std::string> Read(std::string_view bytes);
  // Writes as much as the output has room for. Returns what that cost.
  Work Write();

  // Returns null if the stream is gone.
  Http2Stream* Find(int32_t id) const;

  // Sends the interim answer 100.
  void Continue(int32_t id);
  // Sends the header, and then the body if one is given, which must stay in its place until the stream is closed.
  // `in_pieces`: its length is not known yet.
  void Answer(int32_t id, const HttpResponse& response, Http2Body* body, bool in_pieces = false);
  // Tells that an unfinished body has more, or that it is whole now.
  void GoOn(int32_t id);
  void Reset(int32_t id, Http2Code code);
  // Opens the window again by the bytes that were taken of bodies: the connection's, or the stream's.
  void OpenWindow(size_t bytes);
  void OpenWindow(int32_t id, size_t bytes);
  void Ping();
  void GoAway(Http2Code code, std::string_view why);

  // Returns true if any request came.
  bool was_asked() const;
  // Returns true if no more is to be read or written.
  bool is_over() const;
  size_t queued_frames() const;

 private:
  struct Nghttp2;  // its callbacks
  struct Rep;

  const std::unique_ptr<Rep> rep_;
};

}  // namespace weir
