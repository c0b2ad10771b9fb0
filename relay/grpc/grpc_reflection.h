// grpc.reflection.v1.ServerReflection, and v1alpha, which older clients ask for: lists the services, and the .proto
// files that describe them. There are no extensions.
#pragma once

#include <string>
#include <vector>

#include "relay/server/http.h"

namespace weir {

// `services` has their full names, as in their .proto files; reflection itself is added.
void AddGrpcReflection(HttpRouter& router, std::vector<std::string> services);

}  // namespace weir
