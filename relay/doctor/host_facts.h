// The machine and the kernel, from files that everybody may read.
#pragma once

#include <string>

#include "config/settings.h"
#include "relay/doctor/facts.h"

namespace weir {

// Where the kernel's files are; tests put a tree of their own here.
struct HostFiles {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string cgroup = "/sys/fs/cgroup";
};

// `process`: whose cgroups are meant, "self" or a number.
HostFacts LookAtHost(const HostFiles& files = {}, const std::string& process = "self");

// Whether this program is in no cgroup below the one that it sees as the root: in a container all are.
bool IsRootOfCgroups(const HostFiles& files);

// Of a process of this machine.
uint64_t SwappedBytes(const HostFiles& files, int process);
// The environment that it was started with; its flags that stand for a setting are in it. An error: this user may not
// see it.
Result<Environment> EnvironmentOf(const HostFiles& files, int process);

}  // namespace weir
