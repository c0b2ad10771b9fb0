// The quota API over gRPC: the service weir.v1.Quota (protos/weir/v1/quota.proto). It has the calls of users, Decide to
// Explain, which do the same as those of HTTP (quota_api.h), and Watch, which streams the answers of Explain.
#pragma once

#include <functional>

#include "relay/grpc/grpc_watch.h"
#include "relay/limiters/quota/quota_service.h"
#include "relay/server/http.h"

namespace weir {

inline constexpr const char* kQuotaGrpcService = "weir.v1.Quota";

// Adds the gRPC service. `refusal` returns the answer to clients that may not call; it is null if all clients may.
// `service` is called for each call, so the service may be opened after this. `pace` is for the method Watch.
void AddQuotaGrpc(HttpRouter& router, const QuotaService::Refusal& refusal,
                  const std::function<QuotaService&()>& service, const GrpcWatchPace& pace = {});

}  // namespace weir
