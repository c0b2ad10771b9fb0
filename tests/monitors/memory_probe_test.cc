#include "monitors/memory_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "monitors/memory_only_monitor.h"
#include "tests/fixtures/system_files.h"

namespace {

// Stands in for jemalloc: says how much is allocated, and counts how often it was asked.
struct FakeJemalloc {
  size_t allocated = 0;
  int asked = 0;
};
FakeJemalloc* jemalloc = nullptr;  // null: there is no jemalloc

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): jemalloc's name
extern "C" int mallctl(const char* name, void* old_value, size_t*, void*, size_t) {
  if (jemalloc == nullptr) return 1;
  if (std::strcmp(name, "stats.allocated") == 0) {
    ++jemalloc->asked;
    std::memcpy(old_value, &jemalloc->allocated, sizeof(size_t));
  }
  return 0;
}

namespace weir {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class FakeFiles : public SystemFiles {
 public:
  FakeFiles() {
    Put("proc/meminfo", "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n");
    Put("proc/self/statm", "10000 2500 500 1 0 900 0\n");
  }
  MemoryFiles files() const { return {.proc = proc(), .cgroup = cgroup()}; }
};

const std::string kLargestOfV1 = "9223372036854771712\n";  // stands for no limit

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

class JemallocTest : public testing::Test {
 protected:
  JemallocTest() { jemalloc = &allocator_; }
  ~JemallocTest() override { jemalloc = nullptr; }

  void SetAnonymous(uint64_t pages) {
    fake_.Put("proc/self/statm", "10000 " + std::to_string(500 + pages) + " 500 1 0 900 0\n");
  }
  // Returns how often jemalloc was asked in so many calls of ReadUse.
  int AskedIn(int calls) {
    const int before = allocator_.asked;
    for (int call = 0; call < calls; ++call) EXPECT_EQ(probe_.ReadUse().value().jemalloc_bytes.has_value(), true);
    return allocator_.asked - before;
  }

  const uint64_t page_ = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  FakeJemalloc allocator_;
  const FakeFiles fake_;  // 2000 pages are anonymous
  MemoryProbe probe_{fake_.files(), 3200 * page_, 10};
};

TEST_F(JemallocTest, IsAskedSeldomWhileLittleIsInUse) {
  EXPECT_EQ(AskedIn(10), 1);
  EXPECT_EQ(AskedIn(10), 1);
  SetAnonymous(3200);
  EXPECT_EQ(AskedIn(10), 10);
}

TEST_F(JemallocTest, IsAskedOnceMuchMoreOrLessIsResident) {
  EXPECT_EQ(AskedIn(2), 1);
  SetAnonymous(2099);
  EXPECT_EQ(AskedIn(2), 0);
  SetAnonymous(2101);
  EXPECT_EQ(AskedIn(2), 1);
  SetAnonymous(2000);
  EXPECT_EQ(AskedIn(2), 1);
}

// The kernel swapped most of it out, so it is not resident.
TEST_F(JemallocTest, IsAskedAlwaysWhileMuchIsAllocated) {
  allocator_.allocated = 3200 * page_;
  EXPECT_EQ(AskedIn(10), 10);
}

TEST(MemoryProbe, RejectsAFileThatLacksAField) {
  for (const char* text : {"", "10000", "10000 2500", "10000 2500 x", "a b c", "10000 500 2500"}) {
    const FakeFiles fake;
    fake.Put("proc/self/statm", text);
    EXPECT_FALSE(MemoryProbe(fake.files()).ReadUse().ok()) << text;
  }
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

struct CgroupCase {
  const char* name;
  SystemFiles::Texts files;
  std::optional<uint64_t> limit;  // in MiB
  uint64_t used;                  // in MiB
  uint64_t free;                  // in MiB; the host has 4096
};

void ExpectRooms(const std::vector<CgroupCase>& cases) {
  for (const CgroupCase& c : cases) {
    SCOPED_TRACE(c.name);
    const FakeFiles fake;
    fake.Put(c.files);
    const Result<MemoryRoom> room = MemoryProbe(fake.files()).ReadRoom();
    ASSERT_TRUE(room.ok()) << room.status().message();
    EXPECT_EQ(room.value().host_available_bytes, 4096 * kMiB);
    EXPECT_EQ(room.value().cgroup_limit_bytes, c.limit ? std::optional(*c.limit * kMiB) : std::nullopt);
    if (c.limit) {
      EXPECT_EQ(room.value().cgroup_used_bytes, c.used * kMiB);
    }
    EXPECT_EQ(room.value().free_bytes(), c.free * kMiB);
  }
}

TEST(MemoryProbe, WithoutALimitTheHostIsTheLimit) {
  ExpectRooms({
      {"without a cgroup the host is the limit", {}, {}, 0, 4096},
      {"v2: max is no limit",
       {{"proc/self/cgroup", "0::/service\n"},
        {"cgroup/service/memory.max", "max\n"},
        {"cgroup/service/memory.current", Bytes(700)}},
       {},
       0,
       4096},
      {"v1: the largest number is no limit",
       {{"proc/self/cgroup", "4:memory:/\n"}, {"cgroup/memory/memory.limit_in_bytes", kLargestOfV1}},
       {},
       0,
       4096},
  });
}

TEST(MemoryProbe, FindsTheLimitAndTheUseOfItsCgroups) {
  ExpectRooms({
      {"v2: page cache does not count as used",
       {{"proc/self/cgroup", "0::/service\n"},
        {"cgroup/service/memory.max", Bytes(1024)},
        {"cgroup/service/memory.current", Bytes(700)},
        {"cgroup/service/memory.stat", "anon 1\nfile 5\ninactive_file " + Bytes(150) + "active_file " + Bytes(50)}},
       1024,
       500,
       524},
      {"v2: the tightest of nested groups counts",
       {{"proc/self/cgroup", "0::/slice/pod/container\n"},
        {"cgroup/slice/memory.max", Bytes(4000)},
        {"cgroup/slice/memory.current", Bytes(10)},
        {"cgroup/slice/pod/memory.max", Bytes(512)},
        {"cgroup/slice/pod/memory.current", Bytes(100)},
        {"cgroup/slice/pod/container/memory.max", "max\n"}},
       512,
       100,
       412},
      {"v2: a container sees its own group at the mount's root, and not the host's path",
       {{"proc/self/cgroup", "0::/system.slice/docker-0123.scope\n"},
        {"cgroup/memory.max", Bytes(256)},
        {"cgroup/memory.current", Bytes(64)}},
       256,
       64,
       192},
      {"v1: page cache does not count as used",
       {{"proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/docker/abc\n1:name=systemd:/\n0::/\n"},
        {"cgroup/memory/docker/abc/memory.limit_in_bytes", Bytes(2048)},
        {"cgroup/memory/docker/abc/memory.usage_in_bytes", Bytes(300)},
        {"cgroup/memory/docker/abc/memory.stat",
         "inactive_file 1\ntotal_inactive_file " + Bytes(60) + "total_active_file " + Bytes(40)},
        {"cgroup/memory/memory.limit_in_bytes", kLargestOfV1}},
       2048,
       200,
       1848},
      {"hybrid: the tree of v2 is mounted below that of v1",
       {{"proc/self/cgroup", "5:cpu,cpuacct:/other\n0::/service\n"},
        {"cgroup/unified/service/memory.max", Bytes(300)},
        {"cgroup/unified/service/memory.current", Bytes(100)}},
       300,
       100,
       200},
  });
}

TEST(MemoryProbe, FreeIsTheLesserOfHostAndCgroup) {
  ExpectRooms({
      {"free is the lesser of host and cgroup",
       {{"proc/self/cgroup", "0::/\n"}, {"cgroup/memory.max", Bytes(100'000)}, {"cgroup/memory.current", Bytes(1)}},
       100'000,
       1,
       4096},
      {"a group over its limit has nothing free",
       {{"proc/self/cgroup", "0::/\n"}, {"cgroup/memory.max", Bytes(100)}, {"cgroup/memory.current", Bytes(120)}},
       100,
       120,
       0},
  });
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
