#include "bench/plan/published_plan.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;

const TimePoint kStart = TimePoint(std::chrono::hours(1));

TEST(PublishedPlan, DecidesAfterEveryNthOperationOfAllCallers) {
  PublishedPlan plan(kPlanWrites);
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < 10; ++i) EXPECT_FALSE(plan.CountOperation());
    EXPECT_TRUE(plan.CountOperation());
  }
}

TEST(PublishedPlan, WeighsMemorySevenTenths) {
  EXPECT_DOUBLE_EQ(PublishedPlan::ProcessVariable(1, 0), 0.7);
  EXPECT_DOUBLE_EQ(PublishedPlan::ProcessVariable(0, 1), 0.3);
}

TEST(PublishedPlan, FirstDecisionOnlyStartsItsClock) {
  PublishedPlan plan(kPlanWrites);
  EXPECT_EQ(plan.Delay(kStart, 5.0), Duration::zero());
}

// Follows the plan's arithmetic step by step: an error of 0.4 over one second.
TEST(PublishedPlan, AddsThreeTermsInSeconds) {
  PublishedPlan plan(kPlanWrites);
  (void)plan.Delay(kStart, 1.25);
  const Duration delay = plan.Delay(kStart + std::chrono::seconds(1), 1.25);
  EXPECT_NEAR(plan.p(), 0.5 * 0.4, 1e-12);
  EXPECT_NEAR(plan.i(), 0.1 * 0.4, 1e-12);
  EXPECT_NEAR(plan.d(), 0.05 * 0.2 * 0.4, 1e-12);
  EXPECT_NEAR(ToSeconds(delay), 0.2 + 0.04 + 0.004, 1e-9);
}

TEST(PublishedPlan, ClampsOnlyTheIntegralAndTheDelay) {
  PublishedPlan plan(kPlanWrites);
  TimePoint now = kStart;
  (void)plan.Delay(now, 3.85);
  for (int i = 0; i < 100; ++i) EXPECT_LE(plan.Delay(now += milliseconds(500), 3.85), std::chrono::seconds(1));
  EXPECT_NEAR(plan.i(), 0.1 * 2.0, 1e-12);  // wound up to its bound
  for (int i = 0; i < 100; ++i) EXPECT_GE(plan.Delay(now += milliseconds(500), 0.0), Duration::zero());
  EXPECT_NEAR(plan.i(), 0.1 * -0.5, 1e-12);
}

TEST(PublishedPlan, ReadsHaveTheirOwnBounds) {
  PublishedPlan plan(kPlanReads);
  TimePoint now = kStart;
  (void)plan.Delay(now, 3.85);
  for (int i = 0; i < 100; ++i) EXPECT_LE(plan.Delay(now += milliseconds(500), 3.85), milliseconds(200));
  EXPECT_NEAR(plan.i(), 0.05 * 1.0, 1e-12);
  for (int i = 0; i < 100; ++i) (void)plan.Delay(now += milliseconds(500), 0.0);
  EXPECT_NEAR(plan.i(), 0.05 * -0.2, 1e-12);
}

TEST(PublishedPlan, TakesTimeThatStandsStillForAMillisecond) {
  PublishedPlan plan(kPlanWrites);
  (void)plan.Delay(kStart, 0.85);
  (void)plan.Delay(kStart, 0.95);
  EXPECT_NEAR(plan.i(), 0.1 * 0.1 * 0.001, 1e-12);
}

}  // namespace
}  // namespace weir
