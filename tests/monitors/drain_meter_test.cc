#include "monitors/drain_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "monitors/smoothed.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kMB = 1e6;

// One job: busy for this long, then reported as done.
void Job(DrainMeter* meter, Duration busy, double bytes) {
  for (Duration t{}; t < busy; t += milliseconds(100)) meter->Busy(milliseconds(100));
  meter->Drained(bytes);
}

TEST(DrainMeter, SaysThePriorUntilTheFirstGulp) {
  DrainMeter meter(6.7 * kMB);
  EXPECT_DOUBLE_EQ(meter.BytesPerSecond(), 6.7 * kMB);
  meter.Busy(seconds(30));
  EXPECT_DOUBLE_EQ(meter.BytesPerSecond(), 6.7 * kMB);
  meter.SetPrior(3 * kMB);
  EXPECT_DOUBLE_EQ(meter.BytesPerSecond(), 3 * kMB);
  EXPECT_FALSE(meter.measured());
}

TEST(DrainMeter, ComesToTheRateOfTheWork) {
  struct Work {
    int jobs;
    int busy_s;
    double mb;
  };
  const struct {
    const char* name;
    double prior_mb;
    std::vector<Work> work;
    double mb_per_second;
    double tolerance;
  } cases[] = {
      {"steady work", 50, {{10, 4, 24}}, 6, 0.1},
      {"a prior that is a hundred times too high", 600, {{4, 4, 24}}, 6, 0.1},
      {"the meter is not told of idle time, which does not lower the rate", 6, {{20, 2, 16}}, 8, 0.1},
      {"a change, within about twenty busy seconds", 6, {{10, 4, 24}, {5, 4, 9}}, 2.25, 0.4},
  };
  for (const auto& c : cases) {
    DrainMeter meter(c.prior_mb * kMB);
    for (const Work& w : c.work) {
      for (int i = 0; i < w.jobs; ++i) Job(&meter, seconds(w.busy_s), w.mb * kMB);
    }
    EXPECT_NEAR(meter.BytesPerSecond() / kMB, c.mb_per_second, c.tolerance) << c.name;
  }
}

TEST(DrainMeter, APriorThatComesAfterTheFirstGulpIsTooLate) {
  DrainMeter meter(50 * kMB);
  for (int i = 0; i < 10; ++i) Job(&meter, seconds(4), 24 * kMB);
  meter.SetPrior(1 * kMB);
  EXPECT_NEAR(meter.BytesPerSecond() / kMB, 6, 0.1);
}

TEST(DrainMeter, StandsStillBetweenGulps) {
  DrainMeter meter(6 * kMB);
  for (int i = 0; i < 10; ++i) Job(&meter, seconds(4), 24 * kMB);
  const double after_gulp = meter.BytesPerSecond();
  for (int i = 0; i < 39; ++i) {
    meter.Busy(milliseconds(100));
    EXPECT_NEAR(meter.BytesPerSecond(), after_gulp, 0.01 * after_gulp) << i;
  }
}

TEST(DrainMeter, FallsWhenAGulpIsOverdue) {
  DrainMeter meter(6 * kMB);
  for (int i = 0; i < 10; ++i) Job(&meter, seconds(4), 24 * kMB);
  meter.Busy(seconds(12));  // a third of the speed
  EXPECT_LT(meter.BytesPerSecond(), 4.5 * kMB);
  meter.Busy(std::chrono::hours(1));
  EXPECT_LT(meter.BytesPerSecond(), 0.1 * kMB);
  EXPECT_GT(meter.BytesPerSecond(), 0);
}

TEST(DrainMeter, LooksBackOverTwoGulpsHoweverLongTheyAre) {
  DrainMeter meter(6 * kMB);
  // Alternating sizes at a long cycle: with 8 s of memory the rate would swing between them.
  for (int i = 0; i < 10; ++i) Job(&meter, seconds(30), (i % 2 == 0 ? 120 : 240) * kMB);
  EXPECT_NEAR(meter.BytesPerSecond() / kMB, 6, 1.2);
}

TEST(DrainMeter, IsRightAtOnceWhenScaledToASlowerDisk) {
  DrainMeter meter(6 * kMB);
  for (int i = 0; i < 10; ++i) Job(&meter, seconds(4), 24 * kMB);
  meter.Busy(seconds(2));
  meter.Scale(0.5);  // half of the gulp is done, the other half takes 4 s more
  meter.Busy(seconds(4));
  EXPECT_NEAR(meter.BytesPerSecond() / kMB, 3, 0.1);
  meter.Drained(24 * kMB);
  EXPECT_NEAR(meter.BytesPerSecond() / kMB, 3, 0.1);
  meter.Scale(2);
  EXPECT_NEAR(meter.BytesPerSecond() / kMB, 6, 0.2);
}

TEST(DrainMeter, IgnoresEmptyAndNegativeWork) {
  DrainMeter meter(6 * kMB);
  meter.Busy(-seconds(5));
  meter.Drained(0);
  meter.Drained(-3);
  EXPECT_DOUBLE_EQ(meter.BytesPerSecond(), 6 * kMB);
}

TEST(DrainMeter, AGulpWithoutBusyTimeStaysFinite) {
  DrainMeter meter(6 * kMB);
  meter.Drained(4 * kMB);  // moved, too quickly for any sample to see it
  EXPECT_GT(meter.BytesPerSecond(), 6 * kMB);
  EXPECT_LT(meter.BytesPerSecond(), 10 * kMB);
}

TEST(Smoothed, FirstValueCountsWhole) {
  Smoothed value(seconds(2));
  EXPECT_DOUBLE_EQ(value.Update(TimePoint{} + seconds(5), 3), 3);
}

TEST(Smoothed, ManyStepsAreAsOne) {
  Smoothed fine(seconds(2));
  Smoothed coarse(seconds(2));
  fine.Update(TimePoint{}, 0);
  coarse.Update(TimePoint{}, 0);
  for (int i = 1; i <= 100; ++i) fine.Update(TimePoint{} + i * milliseconds(20), 1);
  coarse.Update(TimePoint{} + seconds(2), 1);
  EXPECT_NEAR(fine.value(), coarse.value(), 1e-12);
  EXPECT_NEAR(coarse.value(), 1 - std::exp(-1.0), 1e-12);
}

TEST(Smoothed, TimeThatGoesBackChangesNothing) {
  Smoothed value(seconds(2));
  value.Update(TimePoint{} + seconds(5), 1);
  EXPECT_DOUBLE_EQ(value.Update(TimePoint{} + seconds(4), 100), 1);
  EXPECT_DOUBLE_EQ(value.Update(TimePoint{} + seconds(5), 100), 1);
}

}  // namespace
}  // namespace weir
