// Serves the quota API over gRPC, as the service weir.v1.Quota (protos/weir/v1/quota.proto). Its methods Decide,
// Reserve, Commit, Refund, Extend, Record and Explain do the same as the calls over HTTP (quota_api.h). Its method
// Watch streams the answers of Explain.
#pragma once

#include <functional>

#include "relay/limiters/quota/quota_service.h"
#include "relay/net/grpc/grpc_watch.h"
#include "relay/net/http.h"

namespace weir {

inline constexpr const char* kQuotaGrpcService = "weir.v1.Quota";

// Adds the gRPC service. `refusal` returns the answer to a client that may not call; it is null if all clients may.
// `service` must be open before the first call. `pace` is for the method Watch.
void AddQuotaGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, QuotaService& service,
                  const GrpcWatchPace& pace = {});

}  // namespace weir
