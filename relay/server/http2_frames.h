// Http2Frames reads and writes the frames of one HTTP/2 connection. It is the only code that uses nghttp2.
//
// Everything runs on the connection's I/O thread. The Listener is called for what the client sends and for what is
// written; it may call any function here but Read and Write. Functions throw std::runtime_error if nghttp2 fails.
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

// The work of a frame parsed or written (relay/account/work.h).
inline constexpr Work kHttp2FrameWork = 200;

// Why a stream or a connection ends, as RFC 9113 (7) numbers it.
enum class Http2Code : uint32_t { kNone = 0, kProtocol = 1, kInternal = 2, kCancel = 8, kCalm = 11 };

// The body of an answer, with its trailers, on its way to the connection's output.
struct Http2Body {
  std::string bytes;
  size_t sent = 0;       // the first of these bytes that have moved to the output
  HttpFields trailers;   // sent after the body
  bool is_whole = true;  // false: more bytes will be appended

  size_t rest() const { return bytes.size() - sent; }
};

// A stream as the listener keeps it. The listener defines this type and returns an object from OnRequestBegin.
struct Http2Stream;

class Http2Frames {
 public:
  // Receives what Read and Write find. An exception from it comes out of Read or Write. Here, "sent" means written to
  // the output; the socket may take it later.
  class Listener {
   public:
    // Called for each frame of the client, before the other calls for it. `brings_something` is true for a header and
    // for a part or the end of a body.
    virtual void OnFrameBegin(bool brings_something) = 0;
    // Called when a request begins. Returns the stream for the other calls, which must stay valid until OnClosed.
    virtual Http2Stream& OnRequestBegin(int32_t id) = 0;
    // Called for each field of a request's header and of its trailers. Returns false if the rest is not wanted; then
    // the stream is reset.
    virtual bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
    // Called when a header, a frame of a body or the trailers are whole. `is_last` is true if that ends the request.
    virtual void OnPartEnd(Http2Stream& stream, bool is_last) = 0;
    // Called for each piece of a body; the view is valid during the call. The client may send more only when OpenWindow
    // was called for these bytes, both for the connection and for the stream.
    virtual void OnBody(Http2Stream& stream, std::string_view piece) = 0;
    // Called for a frame that breaks the protocol; `id` is its stream, or 0 for the connection.
    virtual void OnBadFrame(int32_t id, std::string_view why) = 0;
    // Called when `bytes` of an answer's body were sent.
    virtual void OnBodySent(Http2Stream& stream, size_t bytes) = 0;
    // Called when a frame of an answer's body, or the last frame of an answer, was sent.
    virtual void OnAnswerSent() = 0;
    // Called when a reset of a stream was sent, except one without an error.
    virtual void OnResetSent() = 0;
    // Called when a whole answer was sent before the whole request has come. If it returns false, the stream is reset
    // at once, without an error. If it returns true, the listener has to call Reset itself if the request does not end.
    virtual bool OnAnsweredEarly(Http2Stream& stream) = 0;
    // Called when GOAWAY was sent. `cause` is empty if it says that there was no error.
    virtual void OnGoAwaySent(const std::string& cause) = 0;
    // Called when the client has sent GOAWAY: it will send no more requests.
    virtual void OnGoAway() = 0;
    // Called once for each stream, when it is closed, but not for the streams that are left at the end of Http2Frames.
    virtual void OnClosed(Http2Stream& stream) = 0;

   protected:
    ~Listener() = default;
  };

  // `listener` and `output` must outlive the object. The client may have `most_streams` streams open at once.
  Http2Frames(Listener& listener, BufferedStream& output, uint32_t most_streams);
  ~Http2Frames();
  Http2Frames(const Http2Frames&) = delete;
  Http2Frames& operator=(const Http2Frames&) = delete;

  // Begins with a request that came over HTTP/1.1 with Upgrade: h2c, as stream 1, and calls OnRequestBegin for it.
  // `settings` is the decoded header HTTP2-Settings; `head_only` is true for HEAD. Returns null if the settings are
  // malformed.
  Http2Stream* Upgrade(std::string_view settings, bool head_only);
  // Takes input and calls the listener for it. Returns nullopt, or why the connection cannot go on.
  std::optional<std::string> Read(std::string_view bytes);
  // Writes frames that wait, until the output has 64 KiB or nothing may be sent. Returns the work of that.
  Work Write();

  // Returns the stream; null if it is closed.
  Http2Stream* Find(int32_t id) const;

  // The functions from Continue to GoAway only queue frames. Write sends them.

  // Sends the interim answer 100.
  void Continue(int32_t id);
  // Sends the header of `response` and then `body`, unless that is null. `body` must stay in its place until the stream
  // is closed. response.body only gives the length; `in_pieces` means that the length is not known yet.
  void Answer(int32_t id, const HttpResponse& response, Http2Body* body, bool in_pieces = false);
  // Tells that a body which was not whole has more bytes, or is whole now.
  void GoOn(int32_t id);
  // Ends the stream at once, in both directions.
  void Reset(int32_t id, Http2Code code);
  // Lets the client send `bytes` more of bodies, after as many have come: the first for the connection as a whole, the
  // second for one stream.
  void OpenWindow(size_t bytes);
  void OpenWindow(int32_t id, size_t bytes);
  void Ping();
  // Tells the client to send no more requests. Requests that have come are still answered.
  void GoAway(Http2Code code, std::string_view why);

  // Returns true if the client has sent a request.
  bool was_asked() const;
  // Returns true if nothing more is to be read or written.
  bool is_over() const;
  // Returns the number of frames that wait to be sent, without bodies.
  size_t queued_frames() const;

 private:
  struct Nghttp2;  // nghttp2's callbacks
  struct Rep;

  const std::unique_ptr<Rep> rep_;
};

}  // namespace weir
