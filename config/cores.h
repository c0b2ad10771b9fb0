// Cores: the number of processors that this process may keep busy.
#pragma once

#include <string>

namespace weir {

// Returns the number of processors that the process may run on, or fewer if its cgroup, or one above it, allows less
// processor time: a quota of two and a half processors counts as three. The result is at least 1. Tests pass
// directories of their own instead of the kernel's.
unsigned Cores(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace weir
