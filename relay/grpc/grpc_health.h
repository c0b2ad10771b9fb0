// grpc.health.v1.Health, of the server as a whole and of each of its services: Check tells, and Watch goes on telling
// (grpc_watch.h), also of a service that is not there yet.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "relay/grpc/grpc_watch.h"
#include "relay/server/http.h"

namespace weir {

// Whether a service serves, of which "" is the server as a whole; nothing where there is none of this name. Called on
// I/O threads; must not block.
using GrpcServing = std::function<std::optional<bool>(std::string_view service)>;
void AddGrpcHealth(HttpRouter& router, GrpcServing serving, const GrpcWatchPace& pace = {});

}  // namespace weir
