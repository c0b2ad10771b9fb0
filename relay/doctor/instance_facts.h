// Gathers facts about a running relay or gate for `weir doctor`, over HTTP, as any client can.
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/doctor/facts.h"

namespace weir {

struct InstanceQuestion {
  std::string url;
  // True if it runs on this machine. Then its certificate is not verified, because it may be for another name.
  bool is_local = false;
  // Returns the token of an administrator. Called only before /v1/health is asked, and only if the connection has
  // verified TLS or stays on this machine.
  std::function<Result<std::string>()> token;
};
// Asks for /metrics and /readyz and, if the metrics report trouble with the store of the quotas, for /v1/health. Each
// answer may take five seconds. If /metrics was not answered, or not by weir, InstanceFacts::problem says so.
InstanceFacts AskInstance(const InstanceQuestion& question);

}  // namespace weir
