// grpc.health.v1.Health, for the server as a whole and for each of its services: Check answers once, and Watch goes on
// answering (grpc_watch.h), also for a service that is not there yet.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "relay/grpc/grpc_watch.h"
#include "relay/server/http.h"

namespace weir {

// Returns whether a service serves, of which "" is the server as a whole; nullopt if there is none of this name. Called
// on I/O threads; must not block.
using GrpcServing = std::function<std::optional<bool>(std::string_view service)>;
void AddGrpcHealth(HttpRouter& router, GrpcServing serving, const GrpcWatchPace& pace = {});

}  // namespace weir
