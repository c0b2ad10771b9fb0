// gRPC in the terms of HTTP: what the header of a call says, and how messages are framed.
//
// A call is a POST over HTTP/2 with application/grpc; a message is a byte (0: not compressed), four bytes of its
// length, and protobuf. The answer is 200 in any case: messages, then the trailers grpc-status and grpc-message; where
// there is no message, the header has them.
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

// As long as a body of HTTP may be by default; a server that takes less says so before.
inline constexpr size_t kMostGrpcMessageBytes = size_t{1} << 20;

// What its handler knows of a call beside the message.
struct GrpcCall {
  const HttpRequest& http;              // until the handler returns; its body is empty where calls stream
  std::optional<TimePoint> deadline{};  // grpc-timeout: from then on nobody waits for the answer
};

// Reads the head. What it returns is the answer: the request is no call, or none that can be served.
std::optional<HttpResponse> ReadGrpcCall(TimePoint now, GrpcCall* call);
// The body of a unary call, and its head.
std::optional<HttpResponse> ReadUnaryCall(TimePoint now, GrpcCall* call, google::protobuf::MessageLite* message);
// How many bytes the message has that `text` begins with, its frame included; 0: it is not all there yet.
GrpcStatus FindGrpcMessage(std::string_view text, size_t most_bytes, size_t* framed_bytes);
// The one message of `framed`.
GrpcStatus ReadGrpcMessage(std::string_view framed, google::protobuf::MessageLite* message);

// The head of an answer in pieces.
HttpResponse GrpcHead();
std::string FramedGrpcMessage(const google::protobuf::MessageLite& message);
HttpResponse GrpcAnswer(const google::protobuf::MessageLite& message);
HttpResponse GrpcError(const GrpcStatus& error);
// The trailers of an answer in pieces.
HttpFields GrpcTrailers(const GrpcStatus& status);

// What a server says of a request before or instead of a handler, such as 413; over HTTP/1.1 it stays as it is.
HttpResponse PlainErrorAsGrpc(HttpResponse plain, const HttpRequest& request);

}  // namespace weir
