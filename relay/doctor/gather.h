// Gathers the facts that `weir doctor` judges. Needs no rights but those of whoever asks, changes nothing, and takes
// some seconds.
#pragma once

#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/doctor/facts.h"
#include "relay/doctor/host_facts.h"

namespace weir {

struct GatherOptions {
  Environment environment;
  std::string data_dir;     // --data-dir; empty: as the environment says
  std::string url;          // --url; empty: as the data directory's lock, or the environment, says
  bool as_running = false;  // judge the settings that the running relay was started with
  HostFiles files;
};

// An error: it was asked for what it cannot do.
Result<Facts> Gather(GatherOptions options);

}  // namespace weir
