// The gRPC service grpc.health.v1.Health. With it clients ask whether a server, or one of its services, can be used.
// Its method Check answers once. Watch answers at once, and again when the state has changed (grpc_watch.h), even for a
// service that does not exist yet.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "relay/net/grpc/grpc_watch.h"
#include "relay/net/http.h"

namespace weir {

// A function that returns true if the service can be used; "" names the server as a whole. It returns nullopt if there
// is no service of this name. I/O threads call it, several at once; it must not block.
using GrpcServing = std::function<std::optional<bool>(std::string_view service)>;
// Adds the service to the router.
void AddGrpcHealth(HttpRouter& router, GrpcServing serving, const GrpcWatchPace& pace = {});

}  // namespace weir
