#include "monitors/memory_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "config/manual_clock.h"
#include "monitors/memory_only_monitor.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMiB = 1 << 20;

// A fake tree of /proc and /sys/fs/cgroup.
class FakeFiles {
 public:
  FakeFiles() {
    std::string name = (fs::temp_directory_path() / "weir-memory-XXXXXX").string();
    root_ = mkdtemp(name.data());
    Put("proc/meminfo", "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
    Put("proc/self/statm", "10000 2500 500 1 0 900 0\n");
  }
  ~FakeFiles() { fs::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  MemoryFiles files() const { return {.proc = (root_ / "proc").string(), .cgroup = (root_ / "cgroup").string()}; }
  MemoryRoom Room() const {
    const Result<MemoryRoom> room = MemoryProbe(files()).ReadRoom();
    EXPECT_TRUE(room.ok()) << room.status().message();
    return room.ok() ? room.value() : MemoryRoom{};
  }

 private:
  fs::path root_;
};

std::string Bytes(uint64_t mebibytes) { return std::to_string(mebibytes * kMiB) + "\n"; }

TEST(MemoryProbe, AnonymousMemoryIsResidentMemoryWithoutFiles) {
  const FakeFiles fake;
  MemoryProbe probe(fake.files());
  const Result<MemoryUse> use = probe.ReadUse();
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use.value().anonymous_bytes, 2000u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST(MemoryProbe, SeesNewFiguresInAFileThatItKeepsOpen) {
  const FakeFiles fake;
  MemoryProbe probe(fake.files());
  ASSERT_TRUE(probe.ReadUse().ok());
  fake.Put("proc/self/statm", "10000 600 500 1 0 900 0\n");
  EXPECT_EQ(probe.ReadUse().value().anonymous_bytes, 100u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST(MemoryUse, TheAllocatorKeepsResidentMemoryThatIsNotInUse) {
  EXPECT_EQ((MemoryUse{.jemalloc_bytes = 60, .anonymous_bytes = 100}).kept_bytes(), 40U);
  EXPECT_EQ((MemoryUse{.jemalloc_bytes = 100, .anonymous_bytes = 60}).kept_bytes(), 0U);  // not touched yet
  EXPECT_EQ((MemoryUse{.jemalloc_bytes = {}, .anonymous_bytes = 100}).kept_bytes(), 0U);
}

TEST(MemoryProbe, SaysWhichFileItCannotRead) {
  MemoryProbe probe({.proc = "/nonexistent", .cgroup = "/nonexistent"});
  EXPECT_EQ(probe.ReadUse().status().message(), "cannot read /nonexistent/self/statm");
  EXPECT_EQ(probe.ReadRoom().status().message(), "no MemAvailable in /nonexistent/meminfo");
  const FakeFiles fake;
  fake.Put("proc/self/statm", "not numbers");
  EXPECT_FALSE(MemoryProbe(fake.files()).ReadUse().ok());
}

TEST(MemoryProbe, WithoutACgroupTheHostIsTheLimit) {
  const FakeFiles fake;
  const MemoryRoom room = fake.Room();
  EXPECT_FALSE(room.cgroup_limit_bytes.has_value());
  EXPECT_EQ(room.host_available_bytes, 4096 * kMiB);
  EXPECT_EQ(room.free_bytes(), 4096 * kMiB);
}

TEST(MemoryProbe, ReadsCgroupV2) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/service\n");
  fake.Put("cgroup/service/memory.max", Bytes(1024));
  fake.Put("cgroup/service/memory.current", Bytes(700));
  fake.Put("cgroup/service/memory.stat", "anon 1\nfile 5\ninactive_file " + Bytes(150) + "active_file " + Bytes(50));
  const MemoryRoom room = fake.Room();
  EXPECT_EQ(room.cgroup_limit_bytes, 1024 * kMiB);
  EXPECT_EQ(room.cgroup_used_bytes, 500 * kMiB);  // page cache does not count
  EXPECT_EQ(room.free_bytes(), 524 * kMiB);
}

TEST(MemoryProbe, MaxIsNoLimit) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/service\n");
  fake.Put("cgroup/service/memory.max", "max\n");
  fake.Put("cgroup/service/memory.current", Bytes(700));
  EXPECT_FALSE(fake.Room().cgroup_limit_bytes.has_value());
}

TEST(MemoryProbe, TheTightestOfNestedCgroupsCounts) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/slice/pod/container\n");
  fake.Put("cgroup/slice/memory.max", Bytes(4000));
  fake.Put("cgroup/slice/memory.current", Bytes(10));
  fake.Put("cgroup/slice/pod/memory.max", Bytes(512));
  fake.Put("cgroup/slice/pod/memory.current", Bytes(100));
  fake.Put("cgroup/slice/pod/container/memory.max", "max\n");
  const MemoryRoom room = fake.Room();
  EXPECT_EQ(room.cgroup_limit_bytes, 512 * kMiB);
  EXPECT_EQ(room.cgroup_used_bytes, 100 * kMiB);
}

TEST(MemoryProbe, InAContainerTheMountsRootIsItsOwnGroup) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/system.slice/docker-0123.scope\n");  // the host's path, not visible here
  fake.Put("cgroup/memory.max", Bytes(256));
  fake.Put("cgroup/memory.current", Bytes(64));
  EXPECT_EQ(fake.Room().cgroup_limit_bytes, 256 * kMiB);
}

TEST(MemoryProbe, ReadsCgroupV1) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/docker/abc\n1:name=systemd:/\n0::/\n");
  fake.Put("cgroup/memory/docker/abc/memory.limit_in_bytes", Bytes(2048));
  fake.Put("cgroup/memory/docker/abc/memory.usage_in_bytes", Bytes(300));
  fake.Put("cgroup/memory/docker/abc/memory.stat",
           "inactive_file 1\ntotal_inactive_file " + Bytes(60) + "total_active_file " + Bytes(40));
  fake.Put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const MemoryRoom room = fake.Room();
  EXPECT_EQ(room.cgroup_limit_bytes, 2048 * kMiB);
  EXPECT_EQ(room.cgroup_used_bytes, 200 * kMiB);
}

// The tree of cgroups v2 is then mounted below that of v1.
TEST(MemoryProbe, ReadsHybridCgroups) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "5:cpu,cpuacct:/other\n0::/service\n");
  fake.Put("cgroup/unified/service/memory.max", Bytes(300));
  fake.Put("cgroup/unified/service/memory.current", Bytes(100));
  EXPECT_EQ(fake.Room().cgroup_limit_bytes, 300 * kMiB);
  EXPECT_EQ(fake.Room().cgroup_used_bytes, 100 * kMiB);
}

TEST(MemoryProbe, V1sLargestNumberIsNoLimit) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "4:memory:/\n");
  fake.Put("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(fake.Room().cgroup_limit_bytes.has_value());
}

TEST(MemoryProbe, FreeIsTheLesserOfHostAndCgroup) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/\n");
  fake.Put("cgroup/memory.max", Bytes(100'000));
  fake.Put("cgroup/memory.current", Bytes(1));
  EXPECT_EQ(fake.Room().free_bytes(), 4096 * kMiB);
}

TEST(MemoryProbe, AGroupOverItsLimitHasNothingFree) {
  const FakeFiles fake;
  fake.Put("proc/self/cgroup", "0::/\n");
  fake.Put("cgroup/memory.max", Bytes(100));
  fake.Put("cgroup/memory.current", Bytes(120));
  EXPECT_EQ(fake.Room().free_bytes(), 0u);
}

TEST(MemoryProbe, ReadsThisMachine) {
  MemoryProbe probe;
  const Result<MemoryUse> before = probe.ReadUse();
  ASSERT_TRUE(before.ok()) << before.status().message();
  constexpr size_t kSize = 64 * kMiB;
  const auto block = std::make_unique<char[]>(kSize);
  std::memset(block.get(), 1, kSize);
  const Result<MemoryUse> after = probe.ReadUse();
  ASSERT_TRUE(after.ok());
  EXPECT_GE(after.value().anonymous_bytes, before.value().anonymous_bytes + kSize / 2);
  ASSERT_TRUE(probe.ReadRoom().ok());
  EXPECT_GT(probe.ReadRoom().value().host_available_bytes, 0u);
}

TEST(PurgeAllocator, MayBeCalledWithAnyAllocator) { PurgeAllocator(); }

TEST(MemoryOnlyMonitor, ItsOneSignalIsUseOverTarget) {
  const FakeFiles fake;
  ManualClock clock(TimePoint{} + std::chrono::seconds(1));
  const uint64_t used = 2000u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  MemoryOnlyMonitor monitor(2 * used, {}, clock, fake.files());
  ASSERT_TRUE(monitor.SampleOnce().ok());
  const LoadSample sample = monitor.Sample();
  ASSERT_EQ(sample.signals().size(), 1u);
  const Signal& memory = sample.signals()[0];
  EXPECT_EQ(memory.name, "memory");
  EXPECT_TRUE(memory.acts_on_writes);
  EXPECT_TRUE(memory.acts_on_reads);
  EXPECT_EQ(memory.bytes_per_level, 2.0 * static_cast<double>(used));
  EXPECT_EQ(memory.dead_time, std::chrono::milliseconds(200));
  EXPECT_EQ(sample.memory_pressure, memory.level);
  EXPECT_EQ(monitor.LoadLevel(), 0);
  if (!MemoryProbe().ReadUse().value().jemalloc_bytes) {
    EXPECT_NEAR(memory.level, 0.5, 1e-9);
  }
}

TEST(MemoryOnlyMonitor, SaysWhenItCannotRead) {
  MemoryOnlyMonitor monitor(1 << 20, {}, Clock::System(), {.proc = "/nonexistent", .cgroup = "/nonexistent"});
  EXPECT_FALSE(monitor.SampleOnce().ok());
  monitor.ForceFlush();
  EXPECT_FALSE(monitor.SampleOnce().ok());
  EXPECT_EQ(monitor.LastError().message(), "cannot read /nonexistent/self/statm");
}

}  // namespace
}  // namespace weir
