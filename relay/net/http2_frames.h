// Http2Frames: reads and writes the frames of one HTTP/2 connection. No other code of the server uses nghttp2.
//
// All functions must be called on the connection's I/O thread. Read and Write call the Listener for the frames that
// they read and write; the Listener may call any function of Http2Frames except these two. Functions throw
// std::runtime_error if nghttp2 fails.
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
#include "relay/net/buffered_stream.h"
#include "relay/net/http.h"

namespace weir {

// The work of parsing or writing a frame (relay/account/work.h).
inline constexpr Work kHttp2FrameWork = 200;

// The reason why a stream or a connection ends, with its number in RFC 9113 (7).
enum class Http2Code : uint32_t { kNone = 0, kProtocol = 1, kInternal = 2, kCancel = 8, kCalm = 11 };

// The body of an answer, with its trailers, on its way to the connection's output.
struct Http2Body {
  std::string bytes;
  size_t sent = 0;       // the number of bytes that have moved to the output
  HttpFields trailers;   // fields that are sent after the body
  bool is_whole = true;  // false if more bytes will be appended

  size_t rest() const { return bytes.size() - sent; }
};

// The listener's object for a stream. The listener defines this type, and returns an object of it from OnRequestBegin.
struct Http2Stream;

class Http2Frames {
 public:
  // Listener: the interface that Read and Write call. They pass on an exception that it throws. In its comments, "sent"
  // means written to the connection's output, which the socket may take later.
  class Listener {
   public:
    // Called for each frame of the client, before the other calls for that frame. `brings_something` is true for a
    // header and for a part or the end of a body.
    virtual void OnFrameBegin(bool brings_something) = 0;
    // Called when a request begins. Returns the listener's object for the stream, which must stay valid until OnClosed.
    virtual Http2Stream& OnRequestBegin(int32_t id) = 0;
    // Called for each field of a request's header and of its trailers. Returns false to reset the stream without the
    // remaining fields.
    virtual bool OnField(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
    // Called when a request's header, a frame of its body or its trailers have arrived whole. `is_last` is true if the
    // request ends with this part.
    virtual void OnPartEnd(Http2Stream& stream, bool is_last) = 0;
    // Called for each piece of a body; the view is valid only during the call. Each piece uses up the client's
    // flow-control windows; the listener must call both forms of OpenWindow when it has used the bytes.
    virtual void OnBody(Http2Stream& stream, std::string_view piece) = 0;
    // Called for a frame that breaks the protocol; `id` is the frame's stream, or 0 for the connection.
    virtual void OnBadFrame(int32_t id, std::string_view why) = 0;
    // Called when `bytes` of an answer's body were sent.
    virtual void OnBodySent(Http2Stream& stream, size_t bytes) = 0;
    // Called when a frame of an answer's body, or the last frame of an answer, was sent.
    virtual void OnAnswerSent() = 0;
    // Called when a reset of a stream was sent; not for a reset with the code kNone.
    virtual void OnResetSent() = 0;
    // Called when a whole answer was sent before the whole request has come. Returns false to reset the stream at once,
    // without an error. If it returns true, the listener must call Reset itself if the request does not end.
    virtual bool OnAnsweredEarly(Http2Stream& stream) = 0;
    // Called when GOAWAY was sent. `cause` is empty if the GOAWAY was sent without an error.
    virtual void OnGoAwaySent(const std::string& cause) = 0;
    // Called when the client has sent GOAWAY, which means that it will send no more requests.
    virtual void OnGoAway() = 0;
    // Called once for each stream when it is closed; not for streams that are open when Http2Frames is destroyed.
    virtual void OnClosed(Http2Stream& stream) = 0;

   protected:
    ~Listener() = default;
  };

  // `listener` and `output` must outlive the object. The client may have `most_streams` streams open at once.
  Http2Frames(Listener& listener, BufferedStream& output, uint32_t most_streams);
  ~Http2Frames();
  Http2Frames(const Http2Frames&) = delete;
  Http2Frames& operator=(const Http2Frames&) = delete;

  // Begins with stream 1, for a request that came over HTTP/1.1 with Upgrade: h2c, and calls OnRequestBegin for it.
  // `settings` is the decoded header HTTP2-Settings; `head_only` is true for HEAD. Returns null if the settings are
  // malformed.
  Http2Stream* Upgrade(std::string_view settings, bool head_only);
  // Parses input and calls the listener for it. Returns nullopt, or the reason why the connection must end.
  std::optional<std::string> Read(std::string_view bytes);
  // Writes waiting frames, until the output has 64 KiB or no more frames may be sent. Returns the work that it did.
  Work Write();

  // Returns the stream; null if it is closed.
  Http2Stream* Find(int32_t id) const;

  // The functions from Continue to GoAway only queue frames, which Write sends.

  // Sends the interim answer 100.
  void Continue(int32_t id);
  // Sends the header of `response` and then `body`, if it is not null. `body` must stay in its place until the stream
  // is closed. response.body only gives the length; `in_pieces` means that the length is not known yet.
  void Answer(int32_t id, const HttpResponse& response, Http2Body* body, bool in_pieces = false);
  // Continues to send a body that was not whole. Must be called when more bytes were appended, or when the body has
  // become whole.
  void GoOn(int32_t id);
  // Ends the stream at once, in both directions.
  void Reset(int32_t id, Http2Code code);
  // Let the client send `bytes` more bytes of requests' bodies: the first function opens the window of the connection,
  // the second that of a stream. Called when that many received bytes were used.
  void OpenWindow(size_t bytes);
  void OpenWindow(int32_t id, size_t bytes);
  void Ping();
  // Tells the client to send no more requests. Requests that have arrived are still answered.
  void GoAway(Http2Code code, std::string_view why);

  // Returns true if the client has sent a request.
  bool was_asked() const;
  // Returns true if no more frames are to be read or written.
  bool is_over() const;
  // Returns the number of frames that wait to be sent, without the frames of bodies.
  size_t queued_frames() const;

 private:
  struct Nghttp2;  // nghttp2's callbacks
  struct Rep;

  const std::unique_ptr<Rep> rep_;
};

}  // namespace weir
