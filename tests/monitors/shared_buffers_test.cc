#include "monitors/shared_buffers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weir {
namespace {

constexpr Duration kInterval = std::chrono::milliseconds(100);
constexpr uint64_t kMebibyte = 1 << 20;

TEST(SharedBuffers, TheLevelIsTheShareOfTheLastQuarter) {
  struct Case {
    uint64_t used_bytes, filling_bytes;
    bool stopped;
    double level;
  };
  for (const Case& c :
       {Case{0, 0, false, 0}, Case{300, 200, false, 0}, Case{350, 200, false, 0.5}, Case{350, 350, false, 0},
        Case{399, 100, false, 0.99}, Case{399, 399, false, 0}, Case{400, 400, false, 1}, Case{400, 0, false, 1},
        Case{500, 0, false, 2}, Case{350, 350, true, 1}, Case{500, 100, true, 2}}) {
    const SharedBuffers buffers{
        .limit_bytes = 400, .used_bytes = c.used_bytes, .filling_bytes = c.filling_bytes, .stopped = c.stopped};
    EXPECT_NEAR(buffers.Level(), c.level, 1e-9) << c.used_bytes << ", of which being filled " << c.filling_bytes;
  }
}

// The room is the last eighth, or the last quarter where weir flushes early.
TEST(SharedBuffers, AFlushIsDueWhenThreeQuartersAreBeingFilled) {
  struct Case {
    uint64_t filling_bytes;
    double coming_bytes;
    uint64_t own_bytes;
    bool due;
  };
  for (const Case& c : {Case{299, 0, 299, false}, Case{300, 0, 300, true}, Case{200, 99, 200, false},
                        Case{200, 100, 200, true}, Case{300, 0, 50, true}, Case{300, 0, 49, false}}) {
    SharedBuffers buffers{.limit_bytes = 400,
                          .used_bytes = 399,
                          .filling_bytes = c.filling_bytes,
                          .own_bytes = c.own_bytes,
                          .flushes_early = true};
    EXPECT_EQ(buffers.IsFlushDue(c.coming_bytes), c.due) << c.filling_bytes << " + " << c.coming_bytes;
    EXPECT_EQ(buffers.room_bytes(), 100);
    buffers.flushes_early = false;
    EXPECT_FALSE(buffers.IsFlushDue(c.coming_bytes));
    EXPECT_EQ(buffers.room_bytes(), 50);
  }
}

TEST(SharedBuffersSignal, HasADeadTimeAlsoIfNothingFlushesAndTheLimitIsHuge) {
  const SharedBuffers buffers{.limit_bytes = UINT64_MAX, .largest_bytes = UINT64_MAX};
  const Signal signal = SharedBuffersSignal().Update(TimePoint{}, buffers, 0, kInterval);
  EXPECT_EQ(signal.dead_time, std::chrono::hours(1) + kInterval);
}

TEST(SharedBuffersSignal, HasTheGeometryOfTheLastQuarter) {
  const SharedBuffers buffers{.limit_bytes = 80 * kMebibyte, .largest_bytes = 20 * kMebibyte};
  const Signal signal = SharedBuffersSignal().Update(TimePoint{}, buffers, 25.0 * kMebibyte, kInterval);
  EXPECT_EQ(signal.name, "buffers");
  EXPECT_EQ(signal.bytes_per_level, 20.0 * kMebibyte);
  EXPECT_NEAR(signal.drain_bytes_per_second, 10.0 * kMebibyte, 1) << "10 MiB of room for two samples and 0.8 s";
  EXPECT_NEAR(ToSeconds(signal.dead_time), 2.1, 1e-6);
  EXPECT_TRUE(signal.shows_inflow_at_once);
  EXPECT_TRUE(signal.relieved_by_flush);
  EXPECT_EQ(signal.waiting, 0) << "work that waits is in no memtable";
}

TEST(SharedBuffersSignal, DrainsAtMostAsFastAsFlushesAre) {
  for (const uint64_t largest : {0ull, 1ull, 10ull}) {
    const SharedBuffers buffers{.limit_bytes = 800, .largest_bytes = largest};
    EXPECT_EQ(SharedBuffersSignal().Update(TimePoint{}, buffers, 5, kInterval).drain_bytes_per_second, 5);
  }
}

TEST(SharedBuffersSignal, ForetellsAFlushByWhatCameIn) {
  SharedBuffersSignal signal;
  TimePoint now{std::chrono::hours(1)};
  const auto is_due_at = [&](uint64_t used_bytes, uint64_t filling_bytes) {
    (void)signal.Update(now += kInterval,
                        {.limit_bytes = 400,
                         .used_bytes = used_bytes,
                         .filling_bytes = filling_bytes,
                         .own_bytes = filling_bytes,
                         .flushes_early = true},
                        1e9, kInterval);
    return signal.flush_due();
  };
  EXPECT_FALSE(is_due_at(250, 250)) << "how fast these bytes came is not known";
  EXPECT_FALSE(is_due_at(274, 274));
  EXPECT_TRUE(is_due_at(287, 287)) << "13 more would be 300";
  EXPECT_FALSE(is_due_at(297, 240)) << "being flushed";
  EXPECT_FALSE(is_due_at(250, 250)) << "the flush has ended";
  EXPECT_FALSE(is_due_at(270, 270));
  EXPECT_TRUE(is_due_at(290, 290));
}

TEST(SharedBuffersSignal, IsTheLevelThatTheNextSampleMayFind) {
  SharedBuffersSignal signal;
  TimePoint now{std::chrono::hours(1)};
  const auto level_at = [&](uint64_t used_bytes, uint64_t filling_bytes) {
    const SharedBuffers buffers{.limit_bytes = 400, .used_bytes = used_bytes, .filling_bytes = filling_bytes};
    return signal.Update(now += kInterval, buffers, 1e9, kInterval).level;
  };
  EXPECT_EQ(level_at(290, 290), 0);
  EXPECT_EQ(level_at(310, 310), 0) << "nothing is flushed yet";
  EXPECT_NEAR(level_at(330, 280), 0.5, 1e-9) << "20 more would be 350";
}

// A database without load may have memtables of nearly the whole limit for hours.
TEST(SharedBuffersSignal, FallsToZeroWhenEveryBufferIsBeingFilled) {
  SharedBuffersSignal signal;
  TimePoint now{std::chrono::hours(1)};
  const SharedBuffers flushed{.limit_bytes = 400, .used_bytes = 360, .filling_bytes = 300};
  EXPECT_NEAR(signal.Update(now, flushed, 200, kInterval).level, 0.6, 1e-9);
  const SharedBuffers filling{.limit_bytes = 400, .used_bytes = 360, .filling_bytes = 360};
  for (int i = 0; i < 200; ++i) (void)signal.Update(now += kInterval, filling, 200, kInterval);
  EXPECT_LT(signal.Update(now, filling, 200, kInterval).level, 1e-3);
}

TEST(SharedBuffersSignal, RisesAtOnceAndFallsWithinSeconds) {
  SharedBuffersSignal signal;
  TimePoint now{std::chrono::hours(1)};
  const auto level_of = [&](uint64_t used_bytes, bool stopped = false) {
    now += kInterval;
    const SharedBuffers buffers{.limit_bytes = 400, .used_bytes = used_bytes, .stopped = stopped};
    return signal.Update(now, buffers, 0, kInterval).level;
  };
  EXPECT_NEAR(level_of(360), 0.6, 1e-9);
  EXPECT_NEAR(level_of(100), 0.6 * std::exp(-0.05), 1e-9);
  EXPECT_NEAR(level_of(600, true), 3 + 0.5, 1e-9) << "at most half a level more, however much came in";
  EXPECT_LT(level_of(100), 1) << "a stop that has ended";
  for (int i = 0; i < 200; ++i) (void)level_of(100);
  EXPECT_LT(level_of(100), 1e-3);
}

}  // namespace
}  // namespace weir
