// How many processors this process may keep busy.
#pragma once

#include <string>

namespace weir {

// Returns the number of processors that it may run on, or fewer if a cgroup, from its own up to the root, allows less
// of their time: a quota of two and a half counts as three. At least 1. Tests pass trees of their own instead of the
// kernel's files.
unsigned Cores(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace weir
