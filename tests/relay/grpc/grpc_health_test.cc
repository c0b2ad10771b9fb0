#include "relay/grpc/grpc_health.h"

#include "grpc/health/v1/health.pb.h"
#include "tests/relay/grpc/grpc_fixture.h"

namespace weir {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class GrpcHealthTest : public ServerTest {
 protected:
  GrpcHealthTest() {
    AddGrpcHealth(router_, [](std::string_view service) -> std::optional<bool> {
      if (service.empty()) return true;
      return service == "test.Greeter" ? std::optional(false) : std::nullopt;
    });
  }
  ~GrpcHealthTest() override { server_.reset(); }

  RawAnswer Ask(const std::string& method, const std::string& service) {
    HealthCheckRequest request;
    request.set_service(service);
    Http2Peer peer(Connect());
    return CallGrpc(peer, "/grpc.health.v1.Health/" + method, request);
  }
};

TEST_F(GrpcHealthTest, OfTheServerAndOfEachService) {
  Start();
  EXPECT_EQ(MessageIn<HealthCheckResponse>(Ask("Check", "")).status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(MessageIn<HealthCheckResponse>(Ask("Check", "test.Greeter")).status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(GrpcCodeOf(Ask("Check", "test.Stranger")), GrpcCode::kNotFound);
}

TEST_F(GrpcHealthTest, WatchTellsClientsToCheckInstead) {
  Start();
  EXPECT_EQ(GrpcCodeOf(Ask("Watch", "")), GrpcCode::kUnimplemented);
}

}  // namespace
}  // namespace weir
