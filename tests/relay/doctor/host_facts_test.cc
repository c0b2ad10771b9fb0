// The kernel's files, as several kernels write them.
#include "relay/doctor/host_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class DoctorHost : public testing::Test {
 protected:
  DoctorHost() {
    Write("proc/meminfo",
          "MemTotal:        8000000 kB\nMemAvailable:    4000000 kB\nCommitLimit:     6000000 kB\n"
          "Committed_AS:    2000000 kB\n");
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = directory_ / path;
    std::filesystem::create_directories(file.parent_path());
    WriteText(file.string(), text);
  }
  HostFiles Files() const {
    return {.proc = directory_ / "proc", .sys = directory_ / "sys", .cgroup = directory_ / "cgroup"};
  }
  HostFacts Look(const std::string& process = "self") const { return LookAtHost(Files(), process); }

  TempDirectory directory_;
};

TEST_F(DoctorHost, WithoutFilesNothingIsKnown) {
  std::filesystem::remove_all(directory_ / "proc");
  const HostFacts host = Look();
  EXPECT_FALSE(host.room);
  EXPECT_FALSE(host.pressure);
  EXPECT_FALSE(host.commit_left_bytes);
  EXPECT_FALSE(host.huge_pages_always);
  EXPECT_FALSE(host.cgroup.memory_high_bytes);
  EXPECT_EQ(host.cgroup.cpus, 0);
  EXPECT_EQ(host.cgroup.oom_kills, 0);
}

TEST_F(DoctorHost, InVersion2TheTightestLimitsAndTheInnermostKillsCount) {
  Write("proc/self/cgroup", "0::/system.slice/weir.service\n");
  Write("cgroup/system.slice/weir.service/memory.high", "max\n");
  Write("cgroup/system.slice/memory.high", "2000000000\n");
  Write("cgroup/system.slice/weir.service/memory.events", "low 0\nhigh 3\nmax 0\noom 1\noom_kill 2\n");
  Write("cgroup/system.slice/memory.events", "low 0\noom_kill 40\n");
  Write("cgroup/system.slice/weir.service/memory.max", "3000000000\n");
  Write("cgroup/system.slice/weir.service/cpu.max", "150000 100000\n");
  Write("cgroup/system.slice/cpu.max", "max 100000\n");
  Write("cgroup/system.slice/weir.service/cpu.stat",
        "usage_usec 7\nnr_periods 500\nnr_throttled 30\nthrottled_usec 1\n");
  const HostFacts host = Look();
  EXPECT_EQ(host.cgroup.memory_high_bytes, 2'000'000'000);
  EXPECT_EQ(host.cgroup.oom_kills, 2);
  EXPECT_EQ(host.cgroup.cpus, 1.5);
  EXPECT_EQ(host.cgroup.periods, 500);
  EXPECT_EQ(host.cgroup.throttled_periods, 30);
  ASSERT_TRUE(host.room);
  EXPECT_EQ(host.room->cgroup_limit_bytes, 3'000'000'000);
}

TEST_F(DoctorHost, InVersion1EachControllerHasItsGroups) {
  Write("proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/\n");
  // Within the container its group is the root of the mount.
  Write("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  Write("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  Write("cgroup/cpu,cpuacct/cpu.stat", "nr_periods 1000\nnr_throttled 900\nthrottled_time 5\n");
  Write("cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  Write("cgroup/memory/memory.limit_in_bytes", "1000000000\n");
  const HostFacts host = Look();
  EXPECT_EQ(host.cgroup.cpus, 0.5);
  EXPECT_EQ(host.cgroup.throttled_periods, 900);
  EXPECT_EQ(host.cgroup.oom_kills, 1);
  EXPECT_EQ(host.room->cgroup_limit_bytes, 1'000'000'000);
}

TEST_F(DoctorHost, AQuotaOfMinusOneIsNoLimit) {
  Write("proc/self/cgroup", "5:cpu:/\n");
  Write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Look().cgroup.cpus, 0);
}

TEST_F(DoctorHost, ReadsTheGroupsOfTheGivenProcess) {
  Write("proc/self/cgroup", "0::/shell\n");
  Write("proc/77/cgroup", "0::/weir\n");
  Write("cgroup/shell/memory.max", "1000\n");
  Write("cgroup/weir/memory.max", "2000\n");
  EXPECT_EQ(Look().room->cgroup_limit_bytes, 1000);
  EXPECT_EQ(Look("77").room->cgroup_limit_bytes, 2000);
}

TEST_F(DoctorHost, InAContainerAllAreAtTheRootOfCgroups) {
  Write("proc/self/cgroup", "0::/\n");
  EXPECT_TRUE(IsRootOfCgroups(Files()));
  Write("proc/self/cgroup", "0::/user.slice/session-1.scope\n");
  EXPECT_FALSE(IsRootOfCgroups(Files()));
}

TEST_F(DoctorHost, PressureIsThatOfTheLastMinute) {
  Write("proc/pressure/io",
        "some avg10=1.00 avg60=9.00 avg300=2.00 total=5\nfull avg10=3.00 avg60=7.50 avg300=1.00 total=4\n");
  Write("proc/pressure/memory",
        "some avg10=0.00 avg60=1.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.25 avg300=0.00 total=0\n");
  Write("proc/pressure/cpu", "some avg10=50.00 avg60=42.00 avg300=1.00 total=9\n");
  const HostFacts host = Look();
  ASSERT_TRUE(host.pressure);
  EXPECT_EQ(host.pressure->io_full, 7.5);
  EXPECT_EQ(host.pressure->memory_full, 0.25);
  EXPECT_EQ(host.pressure->cpu_some, 42);
}

TEST_F(DoctorHost, PromisesAreCountedWhereTheKernelDoes) {
  Write("proc/sys/vm/overcommit_memory", "0\n");
  EXPECT_FALSE(Look().commit_left_bytes);
  Write("proc/sys/vm/overcommit_memory", "2\n");
  EXPECT_EQ(Look().commit_left_bytes, 4'000'000 * uint64_t{1024});
}

TEST_F(DoctorHost, HugePagesAreAlwaysOnWhereThatWordIsChosen) {
  Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_FALSE(Look().huge_pages_always);
  Write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  EXPECT_TRUE(Look().huge_pages_always);
}

TEST_F(DoctorHost, ReadsSwapAndEnvironmentOfAProcess) {
  Write("proc/77/status", "Name:\tweir\nVmRSS:\t  9000 kB\nVmSwap:\t     512 kB\n");
  Write("proc/77/environ", std::string("WEIR_PORT=7\0WEIR_RELAY_NAME=a = b\0NONSENSE\0", 43));
  EXPECT_EQ(SwappedBytes(Files(), 77), 512 * 1024);
  EXPECT_EQ(SwappedBytes(Files(), 78), 0);
  const Result<Environment> environment = EnvironmentOf(Files(), 77);
  ASSERT_TRUE(environment.ok()) << environment.status().message();
  EXPECT_EQ(environment.value(), (Environment{{"WEIR_PORT", "7"}, {"WEIR_RELAY_NAME", "a = b"}}));
  EXPECT_FALSE(EnvironmentOf(Files(), 78).ok());
}

// Looking at this machine does not fail, whatever it is.
TEST_F(DoctorHost, LooksAtThisMachine) {
  const HostFacts host = LookAtHost();
  EXPECT_GT(host.cpus, 0);
  EXPECT_GT(host.memory_bytes, 0);
  EXPECT_TRUE(host.room);
}

}  // namespace
}  // namespace weir
