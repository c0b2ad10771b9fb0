// grpc.health.v1.Health: Check, of the server as a whole and of each of its services. Watch is a method that is not
// there, which tells clients to ask again instead.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "relay/server/http.h"

namespace weir {

// Whether a service serves, of which "" is the server as a whole; nothing where there is none of this name. Called on
// I/O threads; must not block.
using GrpcServing = std::function<std::optional<bool>(std::string_view service)>;
void AddGrpcHealth(HttpRouter& router, GrpcServing serving);

}  // namespace weir
