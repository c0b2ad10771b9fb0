#include "relay/grpc/grpc_health.h"

#include <string>
#include <utility>

#include "config/text/parse.h"
#include "grpc/health/v1/health.pb.h"
#include "relay/grpc/grpc_service.h"

namespace weir {

void AddGrpcHealth(HttpRouter& router, GrpcServing serving) {
  using grpc::health::v1::HealthCheckRequest;
  using grpc::health::v1::HealthCheckResponse;
  GrpcService health(router, "grpc.health.v1.Health");
  health.AddUnary<HealthCheckRequest, HealthCheckResponse>(
      "Check", [serving = std::move(serving)](const GrpcCall&, const HealthCheckRequest& request,
                                              const GrpcReply<HealthCheckResponse>& reply) {
        const std::optional<bool> serves = serving(request.service());
        if (!serves)
          return reply(GrpcStatus{GrpcCode::kNotFound, "there is no service " + Printable(request.service())});
        HealthCheckResponse response;
        response.set_status(*serves ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
        reply(response);
      });
}

}  // namespace weir
