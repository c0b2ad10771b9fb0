// Compares the plant with measurements of RocksDB 7.8 under the storm recipe, and its parts with arithmetic.
#include "bench/simulator/lsm_plant.h"

#include <gtest/gtest.h>

#include <vector>

#include "bench/simulator/memory_plant.h"
#include "bench/simulator/scenario.h"

namespace weir {
namespace {

constexpr TimePoint kStart{std::chrono::hours(1)};
constexpr double kBatch = 16 * 1016;

LsmPlantOptions Recipe() { return FindGeometry("recipe")->lsm; }

struct Compaction {
  double ends_s;
  uint64_t files;  // in L0 just before
  double l1_mb;    // after
};

struct Observed {
  std::vector<Compaction> compactions;
  double mean_mb_per_s = 0;
  PlantView last;
  uint64_t most_files = 0;
};

// Feeds the plant by writers that bring `bytes_per_second`, or all that the engine takes.
Observed Feed(const LsmPlantOptions& options, double bytes_per_second, double seconds) {
  LsmPlant plant(options, kStart);
  Observed seen;
  double credit = 0;
  double written = 0;
  TimePoint now = kStart;
  uint64_t files = 0;
  while (ToSeconds(now - kStart) < seconds) {
    now += std::chrono::milliseconds(1);
    plant.AdvanceTo(now);
    credit =
        plant.WriteBytesPerSecond() > 0 ? credit + 1e-3 * std::min(bytes_per_second, plant.WriteBytesPerSecond()) : 0;
    for (; credit >= kBatch && plant.WriteBytesPerSecond() > 0; credit -= kBatch) {
      plant.Write(kBatch);
      written += kBatch;
    }
    const PlantView view = plant.View();
    if (view.l0_files < files) seen.compactions.push_back({ToSeconds(now - kStart), files, view.l1_bytes / 1e6});
    files = view.l0_files;
    seen.most_files = std::max(seen.most_files, files);
  }
  seen.last = plant.View();
  seen.mean_mb_per_s = written / seconds / 1e6;
  return seen;
}

// Measured on RocksDB, from empty, at 5.9 MB/s for 45 s: when each L0 compaction ended, the files before it, L1 after
// it.
TEST(LsmPlant, FollowsRocksDbAtAFixedRate) {
  const std::vector<Compaction> measured = {{3.5, 4, 15.9},  {6.8, 5, 31.7},  {10.0, 6, 47.4}, {13.5, 7, 51.2},
                                            {17.0, 7, 53.8}, {20.5, 8, 55.2}, {24.3, 8, 55.1}, {28.0, 9, 61.1},
                                            {32.3, 9, 66.0}, {36.5, 10, 72.3}};
  LsmPlantOptions options = Recipe();
  options.lower_bytes = {100e6};
  options.distinct_bytes = 200e6;
  const Observed seen = Feed(options, 5.9e6, 45);
  ASSERT_GE(seen.compactions.size(), measured.size());
  for (size_t i = 0; i < measured.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(seen.compactions[i].ends_s, measured[i].ends_s, 0.1 * measured[i].ends_s);
    EXPECT_NEAR(static_cast<double>(seen.compactions[i].files), static_cast<double>(measured[i].files), 2);
    EXPECT_NEAR(seen.compactions[i].l1_mb, measured[i].l1_mb, 0.2 * measured[i].l1_mb);
  }
}

// Measured on RocksDB with four writers in a closed loop, 40 s: 9.0 MB/s, stopped or delayed nearly always, L0 up to
// 19.
TEST(LsmPlant, BrakesLikeRocksDbWithoutALimiter) {
  LsmPlantOptions options = Recipe();
  options.l1_at_start_bytes = 32.5e6;
  options.lower_bytes = {67e6};
  options.distinct_bytes = 134e6;
  const Observed seen = Feed(options, 1e9, 40);
  EXPECT_NEAR(seen.mean_mb_per_s, 9.0, 0.9);
  EXPECT_GT(seen.last.stalled_seconds, 35);
  EXPECT_GE(seen.most_files, 12u);
  EXPECT_LE(seen.most_files, 20u);
}

TEST(LsmPlant, DelayedWritesKeepToTheirOwnHighestRate) {
  LsmPlantOptions options = Recipe();
  options.highest_delayed_bytes_per_second = 1e6;
  LsmPlant plant(options, kStart);
  while (!plant.View().delayed) plant.Write(1e6);
  EXPECT_EQ(plant.WriteBytesPerSecond(), 1e6);
}

TEST(LsmPlant, SustainsTheRecipesRateAtTheBulkSetpoint) {
  const Observed seen = Feed(Recipe(), FindGeometry("recipe")->sustained_bytes_per_second, 300);
  EXPECT_EQ(seen.last.escapes, 0u);
  // 0.7 of the way from trigger 4 to slowdown 12 is 9.6 files; filling an empty L1 costs one more.
  EXPECT_GE(seen.most_files, 9u);
  EXPECT_LE(seen.most_files, 11u);
}

TEST(LsmPlant, MovedBrakesLeaveRoomForAThrottle) {
  LsmPlantOptions options = Recipe();
  EXPECT_GT(Feed(options, 7e6, 60).last.escapes, 0u);
  options.geometry.brakes_moved = true;
  EXPECT_EQ(Feed(options, 7e6, 60).last.escapes, 0u);
}

TEST(LsmPlant, AByteIsNeitherLostNorMade) {
  const Observed seen = Feed(Recipe(), 5e6, 100);
  const double user = seen.mean_mb_per_s * 100e6;
  const double memory_per_user = Recipe().memory_per_user_byte;
  EXPECT_NEAR(seen.last.total_flushed_bytes + seen.last.memtable_bytes / memory_per_user, user, 4e6);
  EXPECT_NEAR(seen.last.total_flushed_bytes - seen.last.total_drained_bytes, seen.last.l0_bytes, 1);
}

// New data reaches the last level, which grows a level below it when it is full; a byte then costs more.
TEST(LsmPlant, GrowsLevelByLevel) {
  LsmPlantOptions options = Recipe();
  options.lower_bytes = {70e6};
  options.distinct_bytes = 1e15;
  options.geometry.brakes_moved = true;
  const Observed seen = Feed(options, 3e6, 1200);
  EXPECT_NEAR(seen.last.tree_bytes, 70e6 + seen.last.total_flushed_bytes, 1e4);
  EXPECT_GT(seen.last.tree_bytes, 3.6e9) << "L3 is begun at 0.35 GB, L4 at 3.4";
}

TEST(LsmPlant, StoresNoMoreThanThereIs) {
  LsmPlantOptions options = Recipe();
  options.lower_bytes = {70e6};
  options.distinct_bytes = 300e6;
  const Observed seen = Feed(options, 4e6, 1200);
  EXPECT_LT(seen.last.tree_bytes, 500e6);
  EXPECT_GT(seen.last.tree_bytes, 250e6);
}

TEST(LsmPlant, TheStepDoesNotMatter) {
  LsmPlant coarse(Recipe(), kStart);
  LsmPlant fine(Recipe(), kStart);
  TimePoint now = kStart;
  for (int i = 0; i < 400; ++i) {
    coarse.Write(400e3);
    fine.Write(400e3);
    for (int k = 1; k <= 10; ++k) fine.AdvanceTo(now + k * std::chrono::milliseconds(10));
    now += std::chrono::milliseconds(100);
    coarse.AdvanceTo(now);
  }
  EXPECT_EQ(coarse.View().l0_files, fine.View().l0_files);
  EXPECT_NEAR(coarse.View().total_drained_bytes, fine.View().total_drained_bytes, 1);
  EXPECT_NEAR(coarse.View().pending_bytes, fine.View().pending_bytes, 1e3);
}

TEST(MemoryPlant, FillsAndDrains) {
  MemoryPlant plant({.target_bytes = 100, .base_bytes = 10, .drain_bytes_per_second = 5}, kStart);
  plant.Write(50);
  plant.AdvanceTo(kStart + std::chrono::seconds(4));
  EXPECT_DOUBLE_EQ(plant.View().memory_bytes, 40);
  plant.AdvanceTo(kStart + std::chrono::seconds(60));
  EXPECT_DOUBLE_EQ(plant.View().memory_bytes, 10);
  plant.Write(95);
  EXPECT_EQ(plant.View().escapes, 1u);
}

}  // namespace
}  // namespace weir
