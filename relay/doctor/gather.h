// Gathers the facts (facts.h) for the checks of `weir doctor`. Gathering takes some seconds, and needs no root rights.
// It changes no settings and no database, and writes only a temporary file, to measure the disk.
#pragma once

#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "relay/doctor/facts.h"
#include "relay/doctor/host_facts.h"

namespace weir {

struct GatherOptions {
  Environment environment;  // the environment variables with the settings
  std::string data_dir;     // the value of --data-dir; empty: the setting in `environment`, or its default
  // The value of --url, the relay or gate to ask. If it is empty, Gather asks the relay whose address is in the lock
  // file of the data directory, the program at WEIR_PORT and, if WEIR_PORT has its default value, the program at the
  // default port of `weir gate`.
  std::string url;
  bool as_running = false;  // --as-running: replace `environment` by that of the running relay
  HostFiles files;          // the directories of the kernel's files
};

// Returns the facts; those that it cannot find out stay empty. Returns an error only with `as_running`: if no relay on
// RocksDB uses the data directory, or if this user may not look at its process. With `as_running`, the calling process
// changes its working directory to that of the relay, because the relay's settings may have relative paths.
Result<Facts> Gather(GatherOptions options);

}  // namespace weir
