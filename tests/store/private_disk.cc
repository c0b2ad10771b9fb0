#include "tests/store/private_disk.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace weir {
namespace {

// Whoever is not root may be it in a user namespace.
bool EnterNamespace() {
  if (unshare(CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " + user + " 1";
  std::ofstream("/proc/self/gid_map") << "0 " + group + " 1";
  return true;
}

}  // namespace

bool MountPrivateDisk() {
  const std::string size = "size=" + std::to_string(kPrivateDiskMiB) + "m";
  return EnterNamespace() && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", std::getenv(kPrivateDisk), "tmpfs", 0, size.c_str()) == 0;
}

}  // namespace weir
