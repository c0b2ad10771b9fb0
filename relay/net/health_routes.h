// The routes by which load balancers and service managers ask whether the program works.
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/net/http.h"

namespace weir {

// Adds /healthz and /readyz. For each request for /readyz, an I/O thread calls `ready`, which must not block; several
// threads may call it at once. `ready` returns an error if the program is not ready. If the program is ready but has a
// problem, `ready` returns success and sets `*note` to the problem.
void AddHealthRoutes(HttpRouter& router, std::function<Status(std::string* note)> ready);

}  // namespace weir
