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

TEST(SharedBuffersSignal, HasTheGeometryOfTheLastQuarter) {
  const SharedBuffers buffers{.limit_bytes = 80 * kMebibyte, .largest_bytes = 20 * kMebibyte};
  const Signal signal = SharedBuffersSignal().Update(TimePoint{}, buffers, 20.0 * kMebibyte, kInterval);
  EXPECT_EQ(signal.name, "buffers");
  EXPECT_EQ(signal.bytes_per_level, 20.0 * kMebibyte);
  EXPECT_EQ(signal.drain_bytes_per_second, 10.0 * kMebibyte) << "10 MiB of room for a flush that takes 1 s";
  EXPECT_EQ(signal.dead_time, std::chrono::seconds(2) + kInterval);
  EXPECT_TRUE(signal.shows_inflow_at_once);
  EXPECT_TRUE(signal.relieved_by_flush);
  EXPECT_EQ(signal.waiting, 0) << "work that waits is in no memtable";
}

TEST(SharedBuffersSignal, SmallBuffersDrainAsFastAsTheyAreFlushed) {
  for (const uint64_t largest : {0ull, 1ull, 10ull}) {
    const SharedBuffers buffers{.limit_bytes = 80, .largest_bytes = largest};
    EXPECT_EQ(SharedBuffersSignal().Update(TimePoint{}, buffers, 5, kInterval).drain_bytes_per_second, 5);
  }
}

TEST(SharedBuffersSignal, IsTheLevelThatTheNextSampleMayFind) {
  const SharedBuffers waiting{.limit_bytes = 400, .used_bytes = 320, .filling_bytes = 10};
  const auto level_of = [](const SharedBuffers& b, double drain) {
    return SharedBuffersSignal().Update(TimePoint{}, b, drain, kInterval).level;
  };
  EXPECT_NEAR(level_of(waiting, 200), 0.4, 1e-9);
  EXPECT_NEAR(level_of(waiting, 1e9), 0.7, 1e-9) << "at most half of a level more";
}

// A database without load may have memtables of nearly the whole limit for hours.
TEST(SharedBuffersSignal, FallsToZeroWhenNothingComesInAndNothingWaits) {
  SharedBuffersSignal signal;
  TimePoint now{std::chrono::hours(1)};
  const SharedBuffers filling{.limit_bytes = 400, .used_bytes = 340, .filling_bytes = 340};
  EXPECT_NEAR(signal.Update(now, filling, 200, kInterval).level, 0.6, 1e-9) << "it has come in";
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
  EXPECT_EQ(level_of(0), 0);
  EXPECT_NEAR(level_of(360), 0.6, 1e-9);
  EXPECT_NEAR(level_of(100), 0.6 * std::exp(-0.05), 1e-9);
  EXPECT_EQ(level_of(600, true), 3);
  EXPECT_LT(level_of(100), 1) << "a stop that has ended";
  for (int i = 0; i < 200; ++i) (void)level_of(100);
  EXPECT_LT(level_of(100), 1e-3);
}

}  // namespace
}  // namespace weir
