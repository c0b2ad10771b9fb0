// weir.v1.Quota (protos/weir/v1/quota.proto): the quotas' calls by gRPC, handled like those of HTTP.
#pragma once

#include <functional>

#include "relay/grpc/grpc_watch.h"
#include "relay/limiters/quota/quota_service.h"
#include "relay/server/http.h"

namespace weir {

inline constexpr const char* kQuotaGrpcService = "weir.v1.Quota";

// `refusal` answers clients that may not call at all; null if everybody may. `service` is asked for each call.
void AddQuotaGrpc(HttpRouter& router, const QuotaService::Refusal& refusal,
                  const std::function<QuotaService&()>& service, const GrpcWatchPace& pace = {});

}  // namespace weir
