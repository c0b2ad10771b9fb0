// Converts between gRPC and HTTP: reads the head of a call, and frames and reads messages.
//
// A call is a POST over HTTP/2 with the content type application/grpc. A framed message consists of one byte (0: not
// compressed), four bytes for the length, and the protobuf message. The answer to a call has the HTTP status 200,
// messages, and then the trailers grpc-status and grpc-message. The answer that GrpcError makes has no message, and has
// these two as header fields.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/clock.h"
#include "relay/net/grpc/grpc_status.h"
#include "relay/net/http.h"

namespace weir {

// The longest message. It is as long as the default limit of an HTTP body; a server with a lower limit refuses longer
// bodies before it reads a message.
inline constexpr size_t kMostGrpcMessageBytes = size_t{1} << 20;

// The parts of a call that its handler gets in addition to the message.
struct GrpcCall {
  const HttpRequest& http;              // valid until the handler returns; its body is empty if the call is a stream
  std::optional<TimePoint> deadline{};  // from grpc-timeout; nullopt if the client sets none
};

// Reads the head of the call in call->http and sets the deadline. Returns nullopt if the call can be served. Otherwise
// returns the answer to the call: 415 or 505 if the request is no gRPC call, else a gRPC error, for example if the
// deadline has passed.
std::optional<HttpResponse> ReadGrpcCall(TimePoint now, GrpcCall* call);
// Does the same, and reads the message of a unary call, which has one message and gets one. Returns an error if the
// body does not have exactly one message.
std::optional<HttpResponse> ReadUnaryCall(TimePoint now, GrpcCall* call, google::protobuf::MessageLite* message);
// Sets `*framed_bytes` to the size of the framed message at the start of `text`, including the frame, or to 0 if `text`
// does not have the whole message yet. Returns an error if the message is compressed, malformed or longer than
// `most_bytes` without its frame.
GrpcStatus FindGrpcMessage(std::string_view text, size_t most_bytes, size_t* framed_bytes);
// Parses `framed` into `*message`. Returns an error if `framed` is not exactly one framed message.
GrpcStatus ReadGrpcMessage(std::string_view framed, google::protobuf::MessageLite* message);

// Returns the head of an answer whose messages follow in pieces.
HttpResponse GrpcHead();
// Returns the message with its frame.
std::string FramedGrpcMessage(const google::protobuf::MessageLite& message);
// These return the whole answer to a unary call: with one message and status OK, or with an error.
HttpResponse GrpcAnswer(const google::protobuf::MessageLite& message);
HttpResponse GrpcError(const GrpcStatus& error);
// Returns the trailers that end an answer in pieces.
HttpFields GrpcTrailers(const GrpcStatus& status);

// Returns the gRPC form of an error of the server itself, such as 413 (HttpRouter::AddWording). If the request is not
// gRPC over HTTP/2, returns the error unchanged.
HttpResponse PlainErrorAsGrpc(HttpResponse plain, const HttpRequest& request);

}  // namespace weir
