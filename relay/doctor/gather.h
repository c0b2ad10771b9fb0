// Gathers the facts for the checks of `weir doctor`. It needs only the rights of its user, changes no setting, file or
// database, and takes some seconds.
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
  std::string url;          // --url; empty: from the lock of the data directory, and from the environment
  bool as_running = false;  // --as-running: use the settings with which the running relay was started
  HostFiles files;
};

// Returns an error only if `as_running` is set, and no relay runs on the data directory or this user may not look at
// its process. Facts that could not be found out are no error. With `as_running`, this process changes to the relay's
// working directory.
Result<Facts> Gather(GatherOptions options);

}  // namespace weir
