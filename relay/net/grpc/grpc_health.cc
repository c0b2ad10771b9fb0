#include "relay/net/grpc/grpc_health.h"

#include <string>
#include <utility>

#include "config/text/parse.h"
#include "grpc/health/v1/health.pb.h"
#include "relay/net/grpc/grpc_service.h"

namespace weir {

void AddGrpcHealth(HttpRouter& router, GrpcServing serving, const GrpcWatchPace& pace) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  using Reply = GrpcReply<HealthCheckResponse>;
  GrpcService health(router, "grpc.health.v1.Health");
  const auto answer = [](std::optional<bool> serves) {
    HealthCheckResponse response;
    response.set_status(!serves   ? HealthCheckResponse::SERVICE_UNKNOWN
                        : *serves ? HealthCheckResponse::SERVING
                                  : HealthCheckResponse::NOT_SERVING);
    return response;
  };
  health.AddUnary<HealthCheckRequest, HealthCheckResponse>(
      "Check", [serving, answer](const GrpcCall&, const HealthCheckRequest& request, const Reply& reply) {
        const std::optional<bool> serves = serving(request.service());
        if (!serves)
          return reply(GrpcStatus{GrpcCode::kNotFound, "there is no service " + Printable(request.service())});
        reply(answer(serves));
      });
  health.AddWatch<HealthCheckRequest, HealthCheckResponse>(
      "Watch", pace, nullptr,
      [serving, answer](const GrpcCall&, const HealthCheckRequest& request, const Reply& reply) {
        reply(answer(serving(request.service())));
      });
}

}  // namespace weir
