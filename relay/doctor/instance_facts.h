// Gathers facts about a running relay or gate for `weir doctor`, over HTTP, as any client can.
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/doctor/facts.h"

namespace weir {

struct InstanceQuestion {
  std::string url;
  // True if the instance runs on this machine. Its TLS certificate is then not verified, because it may be for another
  // name.
  bool is_local = false;
  // Returns the token of an administrator. AskInstance calls it only for the request for /v1/health, and only if the
  // address is a loopback address or the certificate is verified.
  std::function<Result<std::string>()> token;
};
// Requests /metrics and /readyz and, if the metrics report trouble with the store of the quotas, /v1/health. Waits at
// most five seconds for each answer. If there is no answer of /metrics, or the answer is not from weir,
// InstanceFacts::problem says so.
InstanceFacts AskInstance(const InstanceQuestion& question);

}  // namespace weir
