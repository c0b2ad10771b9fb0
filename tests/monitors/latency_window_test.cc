#include "monitors/latency_window.h"

#include <gtest/gtest.h>

#include <thread>

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LatencyWindow, IsAllZeroBeforeTheFirstRecord) {
  const LatencyWindow window;
  EXPECT_EQ(window.Mean(), Duration::zero());
  EXPECT_EQ(window.Summary().count, 0u);
  EXPECT_EQ(window.Summary().p99, Duration::zero());
}

TEST(LatencyWindow, DividesByItsCountUntilItIsFull) {
  LatencyWindow window(100);
  window.Record(milliseconds(10));
  window.Record(milliseconds(30));
  EXPECT_EQ(window.Mean(), milliseconds(20));
  EXPECT_EQ(window.Summary().count, 2u);
}

TEST(LatencyWindow, ForgetsLatenciesBeyondItsSize) {
  LatencyWindow window(4);
  for (int i = 0; i < 4; ++i) window.Record(milliseconds(1000));
  for (int i = 0; i < 4; ++i) window.Record(milliseconds(1));
  EXPECT_EQ(window.Mean(), milliseconds(1));
  EXPECT_EQ(window.Summary().count, 4u);
}

TEST(LatencyWindow, RoundsItsSizeUpToAPowerOfTwo) {
  EXPECT_EQ(LatencyWindow(0).size(), 1u);
  EXPECT_EQ(LatencyWindow(5).size(), 8u);
  EXPECT_EQ(LatencyWindow(512).size(), 512u);
}

TEST(LatencyWindow, QuantilesAreByNearestRank) {
  LatencyWindow window(128);
  for (int i = 100; i >= 1; --i) window.Record(microseconds(i));
  EXPECT_EQ(window.Summary().p50, microseconds(50));
  EXPECT_EQ(window.Summary().p99, microseconds(99));

  LatencyWindow one(128);
  one.Record(microseconds(7));
  EXPECT_EQ(one.Summary().p50, microseconds(7));
  EXPECT_EQ(one.Summary().p99, microseconds(7));
}

TEST(LatencyWindow, CountsNegativeAsZero) {
  LatencyWindow window(8);
  window.Record(milliseconds(-5));
  window.Record(milliseconds(4));
  EXPECT_EQ(window.Mean(), milliseconds(2));
}

TEST(LatencyWindow, DoesNotOverflowWithTheLongestLatencies) {
  LatencyWindow window(8);
  for (int i = 0; i < 8; ++i) window.Record(std::chrono::hours(24 * 365 * 200));
  EXPECT_NEAR(ToSeconds(window.Mean()), 24.0 * 365 * 200 * 3600, 1e6);
}

TEST(LatencyWindow, ManyThreadsRecordWhileOneReads) {
  LatencyWindow window(256);
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&window] {
      for (int i = 0; i < 20'000; ++i) window.Record(microseconds(3));
    });
  }
  for (int i = 0; i < 100; ++i) {
    const auto summary = window.Summary();
    if (summary.count > 0) {
      EXPECT_EQ(summary.mean, microseconds(3));
    }
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(window.Summary().count, 256u);
  EXPECT_EQ(window.Mean(), microseconds(3));
}

}  // namespace
}  // namespace weir
