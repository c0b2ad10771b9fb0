#include "monitors/memory_target.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/fixtures/system_files.h"

namespace weir {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class MemoryTargetTest : public testing::Test {
 protected:
  MemoryTargetTest() { system_.Put("proc/meminfo", "MemAvailable: 1024000 kB\n"); }  // 1000 MiB

  void PutCgroup(uint64_t limit_mib, std::optional<uint64_t> used_mib = {}) {
    system_.Put({{"proc/self/cgroup", "0::/\n"}, {"cgroup/memory.max", std::to_string(limit_mib * kMiB)}});
    if (used_mib) system_.Put("cgroup/memory.current", std::to_string(*used_mib * kMiB));
  }
  Result<uint64_t> Resolve(uint64_t mebibytes, double emergency = kEmergencyOfTarget) const {
    return ResolveMemoryTarget({.target_memory_mb = mebibytes},
                               MemoryProbe({.proc = system_.proc(), .cgroup = system_.cgroup()}), emergency);
  }

  SystemFiles system_;
};

TEST_F(MemoryTargetTest, ANumberIsTaken) { EXPECT_EQ(Resolve(1400).value(), 1400 * kMiB); }

TEST_F(MemoryTargetTest, ZeroIsTwoThirdsOfFreeMemory) { EXPECT_EQ(Resolve(0).value(), 660 * kMiB); }

TEST_F(MemoryTargetTest, ZeroLooksAtTheCgroupToo) {
  PutCgroup(500, 100);
  EXPECT_EQ(Resolve(0).value(), 264 * kMiB);
}

// The kernel also counts memory that the allocator keeps.
TEST_F(MemoryTargetTest, AnEmergencyBeginsATenthBelowTheCgroupsLimit) {
  PutCgroup(512);
  for (const double emergency : {kEmergencyOfTarget, 2.0}) {
    for (const uint64_t asked : {1400U, 512U, 420U}) {
      const auto mark = emergency * static_cast<double>(Resolve(asked, emergency).value());
      EXPECT_NEAR(mark, 512 * kMiB / 1.1, 2) << asked;
    }
    EXPECT_EQ(Resolve(200, emergency).value(), 200 * kMiB) << "what fits is taken";
  }
  EXPECT_LE(Resolve(1400, 0.5).value(), 512 * kMiB / 1.1) << "nor is the target above it";
  EXPECT_LE(Resolve(0, 2).value(), 512 * kMiB / 2.2) << "0: of what is free, either";
}

TEST_F(MemoryTargetTest, ZeroFailsIfFreeMemoryIsUnknown) {
  system_.Put("proc/meminfo", "nothing\n");
  EXPECT_NE(Resolve(0).status().message().find("WEIR_RATE_LIMIT_TARGET_MEMORY_MB=0"), std::string::npos);
  EXPECT_EQ(Resolve(100).value(), 100 * kMiB);
}

TEST(MemoryTargetSettings, AreDeclared) {
  SettingTable table;
  MemoryTargetSettings settings;
  Declare(table, settings);
  ASSERT_TRUE(table.Load({{"ORLY_RATE_LIMIT_TARGET_MEMORY_MB", "0"}}).ok());
  EXPECT_EQ(settings.target_memory_mb, 0u);
}

struct PlanCase {
  const char* what;
  uint64_t target;  // all in MiB
  std::optional<uint64_t> cache;
  std::optional<uint64_t> buffers;
  bool charged;
  uint64_t least;
  uint64_t most;
  MemoryBudget budget;
};

TEST(PlanMemory, SizesTheCacheAndBuffersThatAreNotSet) {
  const PlanCase cases[] = {
      {"defaults: half, with as many buffers as are used", 1400, {}, {}, true, 128, 128, {700, 128, true}},
      {"many column families: a quarter for buffers", 1400, {}, {}, true, 128, 2560, {700, 350, true}},
      {"a small target holds two buffers", 256, {}, {}, true, 128, 128, {136, 128, true}},
      {"the user's cache stays", 1400, 32, {}, true, 8, 16, {32, 16, true}},
      {"too small a cache is not charged", 1400, 16, {}, true, 8, 16, {16, 16, false}},
      {"the user's buffers stay", 1400, {}, 200, true, 128, 1000, {700, 200, true}},
      {"buffers beside the cache", 1000, {}, 100, false, 8, 16, {400, 100, false}},
      {"no cache at all", 1400, 0, {}, false, 8, 16, {0, 16, false}},
  };
  for (const PlanCase& c : cases) {
    const auto scaled = [](std::optional<uint64_t> mib) { return mib ? std::optional(*mib * kMiB) : std::nullopt; };
    const Result<MemoryBudget> plan = PlanMemory(c.target * kMiB, {.block_cache_bytes = scaled(c.cache),
                                                                   .write_buffer_bytes = scaled(c.buffers),
                                                                   .charged_to_cache = c.charged,
                                                                   .least_write_buffer_bytes = c.least * kMiB,
                                                                   .most_write_buffer_bytes = c.most * kMiB});
    ASSERT_TRUE(plan.ok()) << c.what << ": " << plan.status().message();
    EXPECT_EQ(plan.value().block_cache_bytes, c.budget.block_cache_bytes * kMiB) << c.what;
    EXPECT_EQ(plan.value().write_buffer_bytes, c.budget.write_buffer_bytes * kMiB) << c.what;
    EXPECT_EQ(plan.value().charged_to_cache, c.budget.charged_to_cache) << c.what;
  }
}

TEST(PlanMemory, ATargetTooSmallForTheCachesIsAnErrorWithNumbers) {
  const Result<MemoryBudget> plan = PlanMemory(
      512 * kMiB,
      {.block_cache_bytes = 480 * kMiB, .least_write_buffer_bytes = 128 * kMiB, .most_write_buffer_bytes = 128 * kMiB});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(
      plan.status().message(),
      "a memory target of 512 MiB cannot hold a block cache of 480 MiB that includes 128 MiB of write buffers: they "
      "may take 308 MiB of it (60 %), or memory alone would throttle for ever; the target must be at least 800 MiB, or "
      "the block cache or the write buffers (size, number) smaller");
}

TEST(PlanMemory, TheLeastTargetThatTheErrorNamesIsEnough) {
  const MemoryNeeds needs{.least_write_buffer_bytes = 128 * kMiB, .most_write_buffer_bytes = 128 * kMiB};
  ASSERT_FALSE(PlanMemory(100 * kMiB, needs).ok());
  EXPECT_NE(PlanMemory(100 * kMiB, needs).status().message().find("at least 227 MiB,"), std::string::npos);
  EXPECT_TRUE(PlanMemory(227 * kMiB, needs).ok());
  EXPECT_FALSE(PlanMemory(226 * kMiB, needs).ok());
}

}  // namespace
}  // namespace weir
