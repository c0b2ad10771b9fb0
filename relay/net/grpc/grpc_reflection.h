// The gRPC service grpc.reflection.v1.ServerReflection, and v1alpha for older clients. It tells clients which services
// the server has, and sends descriptions of their .proto files. It does not find protobuf extensions.
#pragma once

#include <string>
#include <vector>

#include "relay/net/http.h"

namespace weir {

// Adds the reflection service to the router. `services` has the full names of the services, as in their .proto files;
// reflection itself is added to them.
void AddGrpcReflection(HttpRouter& router, std::vector<std::string> services);

}  // namespace weir
