// How many processors this process may keep busy.
#pragma once

#include <string>

namespace weir {

// Those that it may run on, or fewer where a cgroup from its own up to the root leaves it less of their time: a quota
// of two and a half counts as three. At least 1. Tests put trees of their own in the place of the kernel's files.
unsigned Cores(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace weir
