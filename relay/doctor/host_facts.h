// Looks at the machine and the kernel, through files that every user may read, but for a process's environment.
#pragma once

#include <string>

#include "config/settings.h"
#include "relay/doctor/facts.h"

namespace weir {

// Directories of the kernel's files; tests put a tree of their own here.
struct HostFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string cgroup = "/sys/fs/cgroup";
};

// `process` is the one whose cgroups are meant: "self" or a number.
HostFacts LookAtHost(const HostFiles& files = {}, const std::string& process = "self");

// True if this program is in no cgroup below the one that it sees as the root, as is every program in a container.
bool IsRootOfCgroups(const HostFiles& files);

// Returns the swapped memory of a process of this machine.
uint64_t SwappedBytes(const HostFiles& files, int process);
// Returns the environment that the process was started with, including its flags that stand for a setting. Returns an
// error if this user may not see it.
Result<Environment> EnvironmentOf(const HostFiles& files, int process);

}  // namespace weir
