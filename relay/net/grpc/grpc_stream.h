// GrpcStream: a gRPC call with messages in both directions, over an HTTP exchange (relay/net/http_stream.h).
//
// All functions and callbacks run on the I/O thread of the call; other threads post to it with a poster(). The stream
// is full while more than kMostWaitingBytes of output wait for the client. A full stream passes no message from the
// client to the handler. A handler that sends messages of its own accord must check is_full() first.
#pragma once

#include <google/protobuf/message_lite.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/net/grpc/grpc_message.h"
#include "relay/net/grpc/grpc_status.h"
#include "relay/net/http_stream.h"

namespace weir {

// The longest message that a client may send in a stream. It is short because many streams may be open at once.
inline constexpr size_t kMostStreamedMessageBytes = size_t{8} << 10;

class GrpcStream {
 public:
  explicit GrpcStream(HttpExchange& exchange) : exchange_(exchange) {}

  HttpPoster poster() { return exchange_.poster(); }
  // Returns the executor for timers. A timer's handler must not use the stream directly, but only through poster().
  boost::asio::any_io_executor executor() { return exchange_.executor(); }

  // Send frames the message and sends it; SendFramed sends a message that is framed already. Both do nothing after the
  // end of the call.
  void Send(const google::protobuf::MessageLite& message) { SendFramed(FramedGrpcMessage(message)); }
  void SendFramed(std::string_view message);
  // These end the call. After that the stream sends nothing and passes no message to the handler; only OnEnd follows.
  void Finish(const GrpcStatus& status) { FinishWith(GrpcTrailers(status)); }
  void FinishWith(HttpFields trailers);
  bool is_over() const { return over_; }  // true after the end of the call

  static constexpr size_t kMostWaitingBytes = size_t{16} << 10;
  bool is_full() const { return exchange_.pending_bytes() > kMostWaitingBytes; }
  // Calls `callback` once, when the stream is not full, but never before WhenTaken has returned, and not after the end
  // of the exchange.
  void WhenTaken(std::function<void()> callback) { exchange_.WhenPendingBelow(kMostWaitingBytes, std::move(callback)); }

 private:
  friend class GrpcStreamCall;
  void Begin();

  HttpExchange& exchange_;
  bool begun_ = false;
  bool over_ = false;
};

// The handler of one call. If OnMessage or OnMessagesEnd throws, the call ends with INTERNAL or, if the answer has
// begun, the stream is reset. OnEnd must not throw.
class GrpcStreamHandler {
 public:
  virtual ~GrpcStreamHandler() = default;

  // Called for each message of the client, in the order of the messages. `framed` is the input of ReadGrpcMessage, and
  // is valid only while OnMessage runs.
  virtual void OnMessage(std::string_view framed) = 0;
  // Called once after the last message, unless the call has ended earlier.
  virtual void OnMessagesEnd() = 0;
  // Called once, as the last function, when the gRPC call has ended for any reason.
  virtual void OnEnd() {}
};

// A function that makes the handler of a call; the handler must not be null. It runs on the I/O thread. `call` is valid
// while it runs, `stream` until OnEnd.
using GrpcStreamFactory = std::function<std::shared_ptr<GrpcStreamHandler>(const GrpcCall& call, GrpcStream& stream)>;
// Adds a method at `path`, "/package.Service/Method". When the server shuts down, or the client has sent GOAWAY, the
// call ends with UNAVAILABLE.
void AddGrpcStream(HttpRouter& router, std::string path, GrpcStreamFactory factory);

}  // namespace weir
