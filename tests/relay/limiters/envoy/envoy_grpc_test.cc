// ShouldRateLimit by frames, and by another implementation of gRPC.
#include <cstdio>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "tests/relay/limiters/gate_server_fixture.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

namespace rls = envoy::service::ratelimit::v3;

constexpr const char* kMethod = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

class EnvoyGrpcTest : public GateServerTest {
 protected:
  EnvoyGrpcTest() {
    rules_.Write("a.yaml",
                 "domain: d\n"
                 "descriptors:\n"
                 "  - {key: a, rate_limit: {unit: year, requests_per_unit: 2, name: of_a}}\n"
                 "  - {key: week, rate_limit: {unit: week, requests_per_unit: 100}}\n"
                 "  - {key: free, rate_limit: {unlimited: true}}\n");
    configuration_.limiters.envoy.rules_directory = rules_.path();
  }

  static rls::RateLimitRequest Request(const std::vector<std::pair<std::string, std::string>>& descriptors) {
    rls::RateLimitRequest request;
    request.set_domain("d");
    for (const auto& [key, value] : descriptors) {
      auto* entry = request.add_descriptors()->add_entries();
      entry->set_key(key);
      entry->set_value(value);
    }
    return request;
  }
  RawAnswer Call(const rls::RateLimitRequest& request, const Http2Fields& more = {}) const {
    Http2Peer peer(RawClient(server_->port()));
    return CallGrpc(peer, kMethod, request, more);
  }
  rls::RateLimitResponse AnswerTo(const rls::RateLimitRequest& request) const {
    return MessageIn<rls::RateLimitResponse>(Call(request));
  }

  TempDirectory rules_;
};

TEST_F(EnvoyGrpcTest, TellsOfEachDescriptor) {
  Open();
  const auto request = Request({{"a", "1"}, {"free", "1"}, {"none", "1"}, {"week", "1"}});
  rls::RateLimitResponse response = AnswerTo(request);
  EXPECT_EQ(response.overall_code(), rls::RateLimitResponse::OK);
  ASSERT_EQ(response.statuses_size(), 4);
  EXPECT_EQ(response.statuses(0).code(), rls::RateLimitResponse::OK);
  EXPECT_EQ(response.statuses(0).current_limit().requests_per_unit(), 2U);
  EXPECT_EQ(response.statuses(0).current_limit().unit(), rls::RateLimitResponse::RateLimit::YEAR);
  EXPECT_EQ(response.statuses(0).current_limit().name(), "of_a");
  EXPECT_EQ(response.statuses(0).limit_remaining(), 1U);
  EXPECT_GT(response.statuses(0).duration_until_reset().seconds(), 0);
  EXPECT_EQ(response.statuses(1).limit_remaining(), 4294967295U);
  EXPECT_FALSE(response.statuses(2).has_current_limit() || response.statuses(2).has_duration_until_reset());
  EXPECT_EQ(response.statuses(3).current_limit().unit(), rls::RateLimitResponse::RateLimit::WEEK);
  EXPECT_EQ(response.response_headers_to_add_size(), 0);
  AnswerTo(request);
  response = AnswerTo(request);
  EXPECT_EQ(response.overall_code(), rls::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).code(), rls::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 0U);
  EXPECT_EQ(response.statuses(3).code(), rls::RateLimitResponse::OK);
}

TEST_F(EnvoyGrpcTest, FollowsHitsAndLimitsOfTheRequest) {
  configuration_.limiters.envoy.response_headers = true;
  Open();
  auto request = Request({{"week", "1"}});
  request.set_hits_addend(10);
  EXPECT_EQ(AnswerTo(request).statuses(0).limit_remaining(), 90U);
  request.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
  EXPECT_EQ(AnswerTo(request).statuses(0).limit_remaining(), 90U);
  request.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(15);
  request.mutable_descriptors(0)->mutable_limit()->set_unit(rls::RateLimitResponse::RateLimit::WEEK);
  const rls::RateLimitResponse response = AnswerTo(request);
  EXPECT_EQ(response.statuses(0).limit_remaining(), 5U);
  ASSERT_EQ(response.response_headers_to_add_size(), 3);
  EXPECT_EQ(response.response_headers_to_add(0).key(), "RateLimit-Limit");
  EXPECT_EQ(response.response_headers_to_add(1).value(), "5");
}

TEST_F(EnvoyGrpcTest, SaysWhatIsWrongWithARequest) {
  Open();
  const auto error = [&](const rls::RateLimitRequest& request) {
    const RawAnswer answer = Call(request);
    EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kInvalidArgument);
    return MessageOf(answer);
  };
  EXPECT_EQ(error({}), "the domain is empty");
  EXPECT_EQ(error(Request({})), "there is no descriptor");
  auto request = Request({{"a", "1"}});
  request.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(1);
  EXPECT_TRUE(Has(error(request), "the limit of descriptor 1: found a unit that is none, expected one of SECOND"));
  for (const char* unit :
       {"\x10\x08", "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {  // 8 and -1, as the wire has them
    ASSERT_TRUE(request.mutable_descriptors(0)->mutable_limit()->ParseFromString(unit));
    EXPECT_TRUE(Has(error(request), "found a unit that is none"));
  }
}

// Envoy lets a request pass if its call ends in an error. So whatever a client puts into a header, the other limits
// hold.
TEST_F(EnvoyGrpcTest, NoValueFreesItsNeighbours) {
  configuration_.limiters.envoy.max_mib = 1;
  Open();
  const auto blocked = Request({{"a", "blocked"}});
  for (int i = 0; i < 3; ++i) AnswerTo(blocked);
  for (const std::string& value :
       {std::string(5'000, 'x'), std::string(900'000, 'x'), std::string("\xff\xfe\x80"), std::string(9, '\0')}) {
    rls::RateLimitResponse response = AnswerTo(Request({{"week", value}, {"a", "blocked"}}));
    EXPECT_EQ(response.overall_code(), rls::RateLimitResponse::OVER_LIMIT) << value.size();
    EXPECT_EQ(response.statuses(0).code(), rls::RateLimitResponse::OK);
    for (int i = 0; i < 3; ++i) response = AnswerTo(Request({{"a", value}}));
    EXPECT_EQ(response.overall_code(), rls::RateLimitResponse::OVER_LIMIT) << value.size() << " has its own limit";
  }
  std::vector<std::pair<std::string, std::string>> flood(200, {"week", ""});
  Http2Peer peer(RawClient(server_->port()));
  for (int round = 0; round < 40; ++round) {
    for (size_t i = 0; i < flood.size(); ++i)
      flood[i].second = std::string(200, 'x') + std::to_string(round) + "_" + std::to_string(i);
    EXPECT_EQ(GrpcCodeOf(CallGrpc(peer, kMethod, Request(flood))), GrpcCode::kOk) << "a flood of values";
  }
  EXPECT_EQ(AnswerTo(blocked).overall_code(), rls::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(AnswerTo(Request({{"a", "another"}})).statuses(0).limit_remaining(), 1U) << "of another rule";
  EXPECT_TRUE(Has(Ask("GET", "/readyz").body, "ready, but ratelimit: ")) << Ask("GET", "/readyz").body;
}

TEST_F(EnvoyGrpcTest, AsksAdministratorsAloneWhereItIsToldTo) {
  configuration_.admin_from_loopback = AdminFromLoopback::kFalse;
  configuration_.admin.admin_token = "secret";
  configuration_.limiters.envoy.api = ServedEnvoyApi::kAdmins;
  Open();
  EXPECT_EQ(GrpcCodeOf(Call(Request({{"a", "1"}}))), GrpcCode::kUnauthenticated);
  EXPECT_EQ(GrpcCodeOf(Call(Request({{"a", "1"}}), {{"authorization", "Bearer secret"}})), GrpcCode::kOk);
}

std::string Output(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  char piece[4096];
  for (size_t bytes = 0; (bytes = fread(piece, 1, sizeof piece, pipe)) > 0;) output.append(piece, bytes);
  pclose(pipe);
  return output;
}

// grpcio of Debian's Python, with messages that protoc makes of our .proto.
TEST_F(EnvoyGrpcTest, IsUnderstoodByGrpcio) {
  if (!Output("/usr/bin/python3 -c 'import grpc, google.protobuf'").empty()) GTEST_SKIP() << "there is no grpcio";
  Open();
  const std::string protos = WEIR_SOURCE_DIR "/relay/limiters/envoy/protos";
  const TempDirectory made;
  ASSERT_EQ(Output("protoc --python_out=" + made.path() + " --proto_path=" + protos + " " + protos +
                   "/envoy/service/ratelimit/v3/rls.proto"),
            "");
  const std::string client = WEIR_SOURCE_DIR "/tests/relay/limiters/envoy/ask_by_grpcio.py";
  EXPECT_EQ(Output("PYTHONPATH=" + made.path() + " /usr/bin/python3 " + client +
                   " 127.0.0.1:" + std::to_string(server_->port())),
            "OK 1 YEAR\n"
            "OK 0 YEAR\n"
            "OVER_LIMIT 0 YEAR\n"
            "INVALID_ARGUMENT the domain is empty\n"
            "UNIMPLEMENTED\n"
            "200 calls, 8 at once: OK\n");
}

}  // namespace
}  // namespace weir
