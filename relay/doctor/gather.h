// Gathers the facts that `weir doctor` judges. Needs no rights but those of its user, changes nothing, and takes some
// seconds.
#pragma once

#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/doctor/facts.h"
#include "relay/doctor/host_facts.h"

namespace weir {

struct GatherOptions {
  Environment environment;
  std::string data_dir;     // --data-dir; empty: from the environment
  std::string url;          // --url; empty: from the data directory's lock, or the environment
  bool as_running = false;  // judge the settings that the running relay was started with
  HostFiles files;
};

// Returns an error if it was asked for something that it cannot do.
Result<Facts> Gather(GatherOptions options);

}  // namespace weir
