// A relay or gate that runs, asked over HTTP as anybody may ask it.
#pragma once

#include <functional>
#include <string>

#include "config/status.h"
#include "relay/doctor/facts.h"

namespace weir {

struct InstanceQuestion {
  std::string url;
  bool is_local = false;  // it answers on this machine: its certificate, of another name, is not looked at
  // Shown for /v1/health alone, where there is something to ask about and the way there is private.
  std::function<Result<std::string>()> token;
};
// /metrics and /readyz; five seconds each at most.
InstanceFacts AskInstance(const InstanceQuestion& question);

}  // namespace weir
