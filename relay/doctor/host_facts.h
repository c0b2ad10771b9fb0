// Gathers facts about the machine and the kernel for `weir doctor`. All users may read the files for this, except the
// environment of another user's process.
#pragma once

#include <string>

#include "config/settings.h"
#include "relay/doctor/facts.h"

namespace weir {

// The directories with the kernel's files. Tests make such files in directories of their own.
struct HostFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string cgroup = "/sys/fs/cgroup";
};

// Looks at the machine, and at the cgroups of a process: "self", or the id of another process.
HostFacts LookAtHost(const HostFiles& files = {}, const std::string& process = "self");

// Returns true if this program is in the root of the cgroups that it can see, as every program in a container is.
bool IsRootOfCgroups(const HostFiles& files);

// Returns the swapped memory of a process of this machine; 0 if that is not known.
uint64_t SwappedBytes(const HostFiles& files, int process);
// Returns the environment with which the process was started. The process's flags --data-dir, --listen and --port
// replace the variables for the same settings. Returns an error if this user may not read the environment.
Result<Environment> EnvironmentOf(const HostFiles& files, int process);

}  // namespace weir
