// gRPC in terms of HTTP: reads the header of a call, and frames messages.
//
// A call is a POST over HTTP/2 with application/grpc; a message is a byte (0: not compressed), four bytes of its
// length, and protobuf. The answer is always 200: messages, then the trailers grpc-status and grpc-message. If there is
// no message, the header has them.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "relay/grpc/grpc_status.h"
#include "relay/server/http.h"

namespace weir {

// The default limit of an HTTP body. A server with a lower limit refuses longer ones before a message is read.
inline constexpr size_t kMostGrpcMessageBytes = size_t{1} << 20;

// The parts of a call that its handler gets beside the message.
struct GrpcCall {
  const HttpRequest& http;              // valid until the handler returns; its body is empty if the call streams
  std::optional<TimePoint> deadline{};  // by grpc-timeout: after it the client does not wait any more
};

// Reads the head of a call. Returns an answer if the request is no call, or none that can be served.
std::optional<HttpResponse> ReadGrpcCall(TimePoint now, GrpcCall* call);
// Reads the head and the body of a unary call.
std::optional<HttpResponse> ReadUnaryCall(TimePoint now, GrpcCall* call, google::protobuf::MessageLite* message);
// Sets *framed_bytes to the size, with its frame, of the message that `text` begins with; 0 if it is not all there yet.
GrpcStatus FindGrpcMessage(std::string_view text, size_t most_bytes, size_t* framed_bytes);
// Reads the one message of `framed`.
GrpcStatus ReadGrpcMessage(std::string_view framed, google::protobuf::MessageLite* message);

// Returns the head of an answer in pieces.
HttpResponse GrpcHead();
std::string FramedGrpcMessage(const google::protobuf::MessageLite& message);
HttpResponse GrpcAnswer(const google::protobuf::MessageLite& message);
HttpResponse GrpcError(const GrpcStatus& error);
// Returns the trailers of an answer in pieces.
HttpFields GrpcTrailers(const GrpcStatus& status);

// Converts an answer that the server gives before or instead of a handler, such as 413. If the request is not gRPC over
// HTTP/2, the answer stays as it is.
HttpResponse PlainErrorAsGrpc(HttpResponse plain, const HttpRequest& request);

}  // namespace weir
