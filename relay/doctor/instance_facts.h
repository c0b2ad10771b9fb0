// Asks a relay or gate that runs over HTTP, as any client may ask it.
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/doctor/facts.h"

namespace weir {

struct InstanceQuestion {
  std::string url;
  bool is_local = false;  // it answers on this machine: its certificate may have another name and is not checked
  // Called and shown only for /v1/health, if there is something to ask about and the connection is private.
  std::function<Result<std::string>()> token;
};
// Asks for /metrics and /readyz, for five seconds each at most.
InstanceFacts AskInstance(const InstanceQuestion& question);

}  // namespace weir
