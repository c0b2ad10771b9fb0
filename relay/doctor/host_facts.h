// Gathers facts about the machine and the kernel for `weir doctor`. Any user may read the files with these facts,
// except the environment of another user's process.
#pragma once

#include <string>

#include "config/settings.h"
#include "relay/doctor/facts.h"

namespace weir {

// The directories with the kernel's files. Tests use directories of their own with such files.
struct HostFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string cgroup = "/sys/fs/cgroup";
};

// Looks at the machine and at the cgroups of the process `process`: "self", or the id of another process.
HostFacts LookAtHost(const HostFiles& files = {}, const std::string& process = "self");

// Returns true if this program is in the root of all cgroup hierarchies that it can see, as a program in a container
// usually is.
bool IsRootOfCgroups(const HostFiles& files);

// Returns the number of bytes of a process that are in swap space; 0 if it is not known.
uint64_t SwappedBytes(const HostFiles& files, int process);
// Returns the environment with which a process was started. If the process was started with the flag --data-dir,
// --listen or --port, the value of the flag replaces that of the variable for the same setting. Returns an error if
// this user may not read the environment.
Result<Environment> EnvironmentOf(const HostFiles& files, int process);

}  // namespace weir
