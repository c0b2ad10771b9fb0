// Makes gRPC calls by raw frames, without a gRPC library.
#pragma once

#include <google/protobuf/message_lite.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/text/percent.h"
#include "relay/net/grpc/grpc_message.h"
#include "relay/net/grpc/grpc_status.h"
#include "tests/relay/net/http2_fixture.h"

namespace weir {

// Returns a message in gRPC's format. Its head announces `said` bytes, which may be wrong.
inline std::string GrpcFrame(std::string_view message, size_t said, char flag = 0) {
  return std::string(1, flag) + FourBytes(static_cast<uint32_t>(said)) + std::string(message);
}
inline std::string GrpcFrame(std::string_view message) { return GrpcFrame(message, message.size()); }

inline const Http2Fields kGrpcFields = {{"content-type", "application/grpc"}, {"te", "trailers"}};

inline GrpcCode GrpcCodeOf(const RawAnswer& answer) {
  const auto code = answer.headers.find("grpc-status");
  return answer.status != 200 || code == answer.headers.end() ? GrpcCode::kUnknown
                                                              : static_cast<GrpcCode>(std::stoi(code->second));
}
inline std::string MessageOf(const RawAnswer& answer) {
  const auto message = answer.headers.find("grpc-message");
  return message == answer.headers.end() ? "" : DecodePercent(message->second).value_or("is not well-formed");
}
// Returns the only message of an answer. The test fails if there is none.
template <typename Message>
Message MessageIn(const RawAnswer& answer) {
  Message message;
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kOk) << MessageOf(answer);
  EXPECT_GE(answer.body.size(), 5U);
  if (answer.body.size() < 5) return message;
  EXPECT_EQ(answer.body.substr(0, 5), GrpcFrame("", answer.body.size() - 5));
  EXPECT_TRUE(message.ParseFromString(answer.body.substr(5)));
  return message;
}

// Returns the whole messages of an answer that may go on.
template <typename Message>
std::vector<Message> MessagesIn(std::string_view body) {
  std::vector<Message> messages;
  for (size_t bytes = 0; FindGrpcMessage(body, SIZE_MAX, &bytes).ok() && bytes > 0; body.remove_prefix(bytes))
    EXPECT_TRUE(ReadGrpcMessage(body.substr(0, bytes), &messages.emplace_back()).ok());
  return messages;
}
// Returns the message that stands in the text format of Protocol Buffers: `name: "ann" times: 2`.
template <typename Message>
Message Written(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// Returns a call over HTTP/1.1, which has no trailers.
inline std::string GrpcOverHttp1(const std::string& path, const std::string& content_type) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Type: " + content_type + "\r\n\r\n" +
         GrpcFrame("");
}
inline RawAnswer CallGrpc(Http2Peer& peer, const std::string& path, const google::protobuf::MessageLite& message,
                          Http2Fields more = {}) {
  more.insert(more.end(), kGrpcFields.begin(), kGrpcFields.end());
  return peer.Fetch("POST", path, GrpcFrame(message.SerializeAsString()), more);
}

}  // namespace weir
