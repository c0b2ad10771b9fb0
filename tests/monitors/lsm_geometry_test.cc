#include "monitors/lsm_geometry.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

constexpr uint64_t kMiB = 1 << 20;

LsmGeometry Recipe() {
  return {.write_buffer_bytes = 4 * kMiB,
          .l0_trigger = 4,
          .l1_bytes = 32 * kMiB,
          .brakes = {.max_write_buffers = 4,
                     .l0_slowdown = 12,
                     .l0_stop = 20,
                     .soft_pending_bytes = 512 * kMiB,
                     .hard_pending_bytes = 2048 * kMiB}};
}

TEST(LsmGeometry, LevelOneIsWhereTheEngineBeginsToBrake) {
  EXPECT_EQ(Recipe().L0FilesAtOne(), 12);
  EXPECT_EQ(Recipe().DebtAtOne(), 512.0 * kMiB);
}

TEST(LsmGeometry, LevelOneOfL0IsBetweenTheFormerSlowdownAndStop) {
  EXPECT_EQ(PreparedGeometry(Recipe()).L0FilesAtOne(), 16);
}

TEST(PreparedGeometry, MergesNoMoreBuffersThanItMay) {
  LsmGeometry given = Recipe();
  const int wanted = PreparedGeometry(given).buffers_per_flush;
  ASSERT_GT(wanted, 1);
  EXPECT_EQ(PreparedGeometry(given, 1).buffers_per_flush, 1);
  EXPECT_EQ(PreparedGeometry(given, 1).brakes.max_write_buffers, given.brakes.max_write_buffers);
  EXPECT_EQ(PreparedGeometry(given, wanted + 1), PreparedGeometry(given));
  given.buffers_per_flush = 3;
  EXPECT_EQ(PreparedGeometry(given, 1).buffers_per_flush, 3) << "the program chose it";
}

TEST(LsmGeometry, LevelOneOfDebtIsWhereMovedBrakesBegin) {
  EXPECT_EQ(PreparedGeometry(Recipe()).DebtAtOne(), 4096.0 * kMiB);
}

// A program that set its stop far out, or has none, does not push the scale beyond the brakes.
TEST(LsmGeometry, LevelOneOfL0IsAlwaysBelowTheMovedBrakes) {
  for (const int stop : {12, 20, 100, 1 << 30}) {
    LsmGeometry given = Recipe();
    given.brakes.l0_stop = stop;
    const LsmGeometry prepared = PreparedGeometry(given);
    EXPECT_GE(prepared.L0FilesAtOne(), given.brakes.l0_slowdown);
    EXPECT_LT(prepared.L0FilesAtOne(), BrakesOf(prepared).l0_slowdown) << stop;
  }
}

// Programs that want no brakes at all set such values.
TEST(LsmGeometry, TriggersOutOfReachStayOutOfReach) {
  for (const int slowdown : {1 << 20, 1 << 30, std::numeric_limits<int>::max()}) {
    LsmGeometry given = Recipe();
    given.brakes.l0_slowdown = given.brakes.l0_stop = slowdown;
    const LsmGeometry prepared = PreparedGeometry(given);
    EXPECT_GE(prepared.L0FilesAtOne(), slowdown);
    EXPECT_GE(BrakesOf(prepared).l0_slowdown, slowdown);
    EXPECT_GE(BrakesOf(prepared).l0_stop, slowdown);
  }
}

TEST(LsmGeometry, BrakesStandWhereTheOptionsPutThemUnlessMoved) {
  const LsmBrakes brakes = BrakesOf(Recipe());
  EXPECT_EQ(brakes.l0_slowdown, 12);
  EXPECT_EQ(brakes.l0_stop, 20);
  EXPECT_EQ(brakes.max_write_buffers, 4);
  EXPECT_EQ(brakes.soft_pending_bytes, 512 * kMiB);
}

TEST(PreparedGeometry, FlushesAsManyBuffersAsMakeL0AsLargeAsL1) {
  struct Case {
    uint64_t buffer_mib, l1_mib;
    int buffers, set, merged;
  };
  for (const Case& c : {Case{4, 32, 4, 1, 2},    // the storm recipe
                        Case{16, 128, 4, 1, 2},  // four times that
                        Case{64, 256, 2, 1, 1},  // RocksDB's defaults
                        Case{4, 256, 4, 1, 2},   // at most half of the buffers
                        Case{4, 256, 2, 1, 1},   // two buffers: one is written, one is flushed
                        Case{4, 256, 12, 3, 3},  // the program's own choice
                        Case{64, 16, 4, 1, 1}}) {
    LsmGeometry given = Recipe();
    given.write_buffer_bytes = c.buffer_mib * kMiB;
    given.l1_bytes = c.l1_mib * kMiB;
    given.brakes.max_write_buffers = c.buffers;
    given.buffers_per_flush = c.set;
    const LsmGeometry prepared = PreparedGeometry(given);
    EXPECT_EQ(prepared.buffers_per_flush, c.merged) << c.buffer_mib << " " << c.l1_mib;
    EXPECT_EQ(prepared.brakes.max_write_buffers, c.set > 1 ? c.buffers : c.buffers + c.merged - 1);
  }
}

// Options may come from a text that is damaged.
TEST(PreparedGeometry, TakesAnySize) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 62, ~uint64_t{0}}) {
    for (const int number : {1, 4, 2'147'483'646}) {
      LsmGeometry given = Recipe();
      given.write_buffer_bytes = given.l1_bytes = size;
      given.l0_trigger = given.brakes.max_write_buffers = number;
      const LsmGeometry prepared = PreparedGeometry(given);
      EXPECT_GE(prepared.buffers_per_flush, 1);
      EXPECT_GE(prepared.brakes.max_write_buffers, number);
    }
  }
}

}  // namespace
}  // namespace weir
