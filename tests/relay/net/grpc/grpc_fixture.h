// Makes gRPC calls by raw frames, without a gRPC library.
#pragma once

#include <google/protobuf/message_lite.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "config/text/percent.h"
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

inline RawAnswer CallGrpc(Http2Peer& peer, const std::string& path, const google::protobuf::MessageLite& message,
                          Http2Fields more = {}) {
  more.insert(more.end(), kGrpcFields.begin(), kGrpcFields.end());
  return peer.Fetch("POST", path, GrpcFrame(message.SerializeAsString()), more);
}

}  // namespace weir
