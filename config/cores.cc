#include "config/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace weir {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// Returns a group's quota in processors. cgroups v2 has "max 100000" or "250000 100000" in one file; v1 has one number
// in each of two files, where -1 means no quota.
double QuotaOf(const std::string& group) {
  double quota = -1;
  double period = 0;
  if (std::ifstream file(group + "/cpu.max"); file) {
    file >> quota >> period;
  } else {
    std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(group + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : kNoQuota;
}

// In a container `path` may name a directory that only the host sees; the mount's root is then the container's group.
double LeastQuota(const std::string& mount, std::string path) {
  double least = QuotaOf(mount);
  for (; !path.empty() && path != "/"; path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/')))
    least = std::min(least, QuotaOf(mount + path));
  return least;
}

bool Names(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == wanted) return true;
  return false;
}

}  // namespace

unsigned Cores(const std::string& proc, const std::string& cgroup) {
  double quota = kNoQuota;
  std::ifstream groups(proc + "/self/cgroup");
  // Lines of "number:controllers:path"; with cgroups v2 the controllers are empty.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) quota = std::min(quota, LeastQuota(cgroup, path));
    if (Names(controllers, "cpu")) quota = std::min(quota, LeastQuota(cgroup + "/cpu", path));
  }
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  return quota < all ? std::max(1U, static_cast<unsigned>(std::ceil(quota))) : all;
}

}  // namespace weir
