// A gRPC call in which messages come and go one by one, over an exchange (http_stream.h).
//
// Everything runs on the I/O thread of the call; other threads use poster(). The stream is full while too much output
// waits for the client; none of its messages is handed over then. A handler that sends unasked checks is_full() first.
#pragma once

#include <google/protobuf/message_lite.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/grpc/grpc_message.h"
#include "relay/grpc/grpc_status.h"
#include "relay/server/http_stream.h"

namespace weir {

// The longest message that comes by a stream: many streams are open at once.
inline constexpr size_t kMostStreamedMessageBytes = size_t{8} << 10;

class GrpcStream {
 public:
  explicit GrpcStream(HttpExchange& exchange) : exchange_(exchange) {}

  HttpPoster poster() { return exchange_.poster(); }
  // For timers, whose handlers then post.
  boost::asio::any_io_executor executor() { return exchange_.executor(); }

  void Send(const google::protobuf::MessageLite& message) { SendFramed(FramedGrpcMessage(message)); }
  void SendFramed(std::string_view message);
  // Ends the call. Nothing is sent or handed over after it.
  void Finish(const GrpcStatus& status) { FinishWith(GrpcTrailers(status)); }
  void FinishWith(HttpFields trailers);
  bool is_over() const { return over_; }

  static constexpr size_t kMostWaitingBytes = size_t{16} << 10;
  bool is_full() const { return exchange_.pending_bytes() > kMostWaitingBytes; }
  // Calls `callback` once, on a later turn, when the stream is not full.
  void WhenTaken(std::function<void()> callback) { exchange_.WhenPendingBelow(kMostWaitingBytes, std::move(callback)); }

 private:
  friend class GrpcStreamCall;
  void Begin();

  HttpExchange& exchange_;
  bool begun_ = false;
  bool over_ = false;
};

// An exception from it ends the call with INTERNAL, or breaks it off if the answer has begun.
class GrpcStreamHandler {
 public:
  virtual ~GrpcStreamHandler() = default;

  // A message, framed as ReadGrpcMessage takes it. The view is valid during the call.
  virtual void OnMessage(std::string_view framed) = 0;
  virtual void OnMessagesEnd() = 0;
  // The last call, whatever the cause.
  virtual void OnEnd() {}
};

// `call` is valid only while the factory runs, `stream` until OnEnd. When the server shuts down, the call ends with
// UNAVAILABLE.
using GrpcStreamFactory = std::function<std::shared_ptr<GrpcStreamHandler>(const GrpcCall& call, GrpcStream& stream)>;
void AddGrpcStream(HttpRouter& router, std::string path, GrpcStreamFactory factory);

}  // namespace weir
