// grpc.reflection.v1.ServerReflection, and v1alpha, which older clients ask for: the services that there are, and the
// .proto files that describe them. There are no extensions.
#pragma once

#include <string>
#include <vector>

#include "relay/server/http.h"

namespace weir {

// services: their full names, as their .proto files have them; this one is added.
void AddGrpcReflection(HttpRouter& router, std::vector<std::string> services);

}  // namespace weir
