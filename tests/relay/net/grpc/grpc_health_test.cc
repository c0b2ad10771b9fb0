#include "relay/net/grpc/grpc_health.h"

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "grpc/health/v1/health.pb.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class GrpcHealthTest : public ServerTest {
 protected:
  GrpcHealthTest() {
    const auto serving = [this](std::string_view service) -> std::optional<bool> {
      if (service.empty()) return true;
      return service == "test.Greeter" ? std::optional(serves_.load()) : std::nullopt;
    };
    AddGrpcHealth(router_, serving, {.beat = std::chrono::milliseconds(5)});
  }
  ~GrpcHealthTest() override { server_.reset(); }

  RawAnswer Ask(const std::string& method, const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    Http2Peer peer(Connect());
    return CallGrpc(peer, "/grpc.health.v1.Health/" + method, request);
  }

  std::atomic<bool> serves_{false};
};

TEST_F(GrpcHealthTest, AnswersForTheServerAndForEachService) {
  Start();
  EXPECT_EQ(MessageIn<HealthCheckResponse>(Ask("Check", "")).status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(MessageIn<HealthCheckResponse>(Ask("Check", "test.Greeter")).status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(GrpcCodeOf(Ask("Check", "test.Stranger")), GrpcCode::kNotFound);
}

TEST_F(GrpcHealthTest, WatchGoesOnTelling) {
  Start();
  HealthCheckRequest request;
  request.set_service("test.Greeter");
  Http2Peer peer(Connect());
  const auto watch = [&] {
    return peer.Ask("POST", "/grpc.health.v1.Health/Watch", GrpcFrame(request.SerializeAsString()), kGrpcFields);
  };
  const auto await = [&](int32_t id, const std::vector<HealthCheckResponse::ServingStatus>& statuses) {
    std::string expected;
    for (const auto status : statuses) {
      HealthCheckResponse response;
      response.set_status(status);
      expected += GrpcFrame(response.SerializeAsString());
    }
    while (peer.SoFar(id).body.size() < expected.size()) ASSERT_TRUE(peer.Take());
    EXPECT_EQ(peer.SoFar(id).body, expected);
  };
  const int32_t known = watch();
  await(known, {HealthCheckResponse::NOT_SERVING});
  serves_ = true;
  await(known, {HealthCheckResponse::NOT_SERVING, HealthCheckResponse::SERVING});
  request.set_service("test.Stranger");
  const int32_t unknown = watch();
  await(unknown, {HealthCheckResponse::SERVICE_UNKNOWN});
  EXPECT_EQ(peer.SoFar(unknown).headers.count("grpc-status"), 0U) << "it may come to be";
}

}  // namespace
}  // namespace weir
