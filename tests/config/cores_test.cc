#include "config/cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/fixtures/system_files.h"

namespace weir {
namespace {

TEST(Cores, AreThoseOfTheLeastQuotaOfTheCgroups) {
  const unsigned all = std::max(1U, std::thread::hardware_concurrency());
  const struct {
    const char* name;
    SystemFiles::Texts files;
    unsigned cores;
  } cases[] = {
      {"no cgroups", {}, all},
      {"no quota",
       {{"proc/self/cgroup", "0::/a/b\n"},
        {"cgroup/a/b/cpu.max", "max 100000\n"},
        {"cgroup/cpu.max", "not what the kernel writes\n"}},
       all},
      {"a quota of a group above, rounded up",
       {{"proc/self/cgroup", "0::/a/b\n"},
        {"cgroup/a/b/cpu.max", "max 100000\n"},
        {"cgroup/a/cpu.max", "50000 100000\n"}},
       1},
      {"a quota of one and a half cores",
       {{"proc/self/cgroup", "0::/a/b\n"},
        {"cgroup/a/b/cpu.max", "max 100000\n"},
        {"cgroup/a/cpu.max", "150000 100000\n"}},
       std::min(2U, all)},
      {"two quotas, the outer one least",
       {{"proc/self/cgroup", "0::/a/b\n"},
        {"cgroup/a/b/cpu.max", "300000 100000\n"},
        {"cgroup/a/cpu.max", "100000 100000\n"}},
       1},
      {"two quotas, the inner one least",
       {{"proc/self/cgroup", "0::/a/b\n"},
        {"cgroup/a/b/cpu.max", "100000 100000\n"},
        {"cgroup/a/cpu.max", "300000 100000\n"}},
       1},
      {"a container, which sees its own group at the mount's root",
       {{"proc/self/cgroup", "0::/only/the/host/has/this\n"}, {"cgroup/cpu.max", "100000 100000\n"}},
       1},
      {"cgroups v1 without a quota",
       {{"proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/a\n"},
        {"cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
        {"cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
       all},
      {"cgroups v1 with a quota",
       {{"proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/a\n"},
        {"cgroup/cpu/a/cpu.cfs_quota_us", "80000\n"},
        {"cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
       1},
  };
  for (const auto& c : cases) {
    const SystemFiles system;
    system.Put(c.files);
    EXPECT_EQ(Cores(system.proc(), system.cgroup()), c.cores) << c.name;
  }
}

}  // namespace
}  // namespace weir
