#include "monitors/drain_envelope.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kTick = milliseconds(100);
constexpr double kFile = 4e6;

// A backlog that rises by `inflow` bytes/s. At the end of each cycle it loses what came in during the cycle.
class Sawtooth {
 public:
  Sawtooth(double low, double inflow, Duration cycle) : backlog_(low), inflow_(inflow), cycle_(cycle) {}

  double Next() {
    backlog_ += inflow_ * ToSeconds(kTick);
    age_ += kTick;
    if (age_ >= cycle_) {
      age_ = Duration::zero();
      backlog_ -= inflow_ * ToSeconds(cycle_);
    }
    return backlog_;
  }
  void set_inflow(double inflow) { inflow_ = inflow; }

 private:
  double backlog_;
  double inflow_;
  Duration cycle_;
  Duration age_{};
};

struct Extremes {
  double least = 1e18;
  double most = -1e18;
  void Add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

TEST(DrainEnvelope, StandsStillAtThePeakOfASteadySawtooth) {
  for (const Duration cycle : {Duration(milliseconds(1500)), Duration(seconds(4)), Duration(seconds(7))}) {
    DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = cycle});
    Sawtooth backlog(12e6, 6e6, cycle);
    TimePoint now{};
    Extremes steady;
    for (int i = 0; i < 600; ++i) {
      const double level = envelope.Update(now += kTick, backlog.Next());
      if (i > 200) steady.Add(level);
    }
    const double peak = 12e6 + 6e6 * ToSeconds(cycle);
    EXPECT_NEAR(steady.least, peak, 0.7e6) << ToSeconds(cycle);  // one tick of inflow
    EXPECT_NEAR(steady.most, peak, 0.7e6) << ToSeconds(cycle);
  }
}

TEST(DrainEnvelope, LearnsTheCycleFromTheLastTwoGulps) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(20)});
  EXPECT_EQ(envelope.cycle(), seconds(20));
  Sawtooth backlog(12e6, 6e6, seconds(5));
  TimePoint now{};
  for (int i = 0; i < 300; ++i) envelope.Update(now += kTick, backlog.Next());
  EXPECT_EQ(envelope.cycle(), seconds(5));
}

TEST(DrainEnvelope, ARiseCountsAtOnce) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  TimePoint now{};
  EXPECT_DOUBLE_EQ(envelope.Update(now, 10e6), 10e6);
  EXPECT_DOUBLE_EQ(envelope.Update(now += kTick, 50e6), 50e6);
}

TEST(DrainEnvelope, ASmallFallCountsAtOnce) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  TimePoint now{};
  envelope.Update(now, 10e6);
  EXPECT_DOUBLE_EQ(envelope.Update(now += kTick, 9e6), 9e6);
  EXPECT_EQ(envelope.cycle(), seconds(4));
}

TEST(DrainEnvelope, FallsToTheBacklogWithinOneCycleWhenTheLoadEnds) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  TimePoint now{};
  envelope.Update(now, 40e6);
  EXPECT_DOUBLE_EQ(envelope.Update(now += kTick, 0), 40e6);  // a gulp took everything
  EXPECT_NEAR(envelope.Update(now += seconds(1), 0), 30e6, 1);
  EXPECT_NEAR(envelope.Update(now += seconds(2), 0), 10e6, 1);
  EXPECT_NEAR(envelope.Update(now += seconds(1), 0), 0, 1);
  EXPECT_NEAR(envelope.Update(now += seconds(9), 0), 0, 1);
}

TEST(DrainEnvelope, CyclesHaveLimits) {
  DrainEnvelope quick({.gulp_bytes = kFile, .first_cycle = milliseconds(10), .min_cycle = milliseconds(500)});
  TimePoint now{};
  quick.Update(now, 40e6);
  quick.Update(now += kTick, 20e6);
  EXPECT_EQ(quick.cycle(), milliseconds(500));
  quick.Update(now += kTick, 0);
  EXPECT_EQ(quick.cycle(), milliseconds(500));
}

TEST(DrainEnvelope, AGulpAfterALongPauseBeginsAnAssumedCycle) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  TimePoint now{};
  envelope.Update(now, 40e6);
  envelope.Update(now += seconds(1), 20e6);
  envelope.Update(now += seconds(2), 0);
  EXPECT_EQ(envelope.cycle(), seconds(2));
  envelope.Update(now += std::chrono::hours(1), 40e6);
  envelope.Update(now += kTick, 0);
  EXPECT_EQ(envelope.cycle(), seconds(4));
}

TEST(DrainEnvelope, ASlowEnginesLongCycleIsNoPause) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(20)});
  TimePoint now{};
  for (int i = 0; i < 3; ++i) {
    envelope.Update(now += seconds(60), 800e6);
    envelope.Update(now += kTick, 0);
  }
  EXPECT_NEAR(ToSeconds(envelope.cycle()), 60.1, 1e-6);
}

TEST(DrainEnvelope, IsNeverBelowTheBacklogNorFarAboveItsPeak) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(3)});
  TimePoint now{};
  Sawtooth backlog(0, 9e6, milliseconds(3700));
  double highest = 0;
  for (int i = 0; i < 2000; ++i) {
    backlog.set_inflow(i % 300 < 150 ? 9e6 : 8e6);
    const double raw = backlog.Next();
    highest = std::max(highest, raw);
    const double level = envelope.Update(now += kTick, raw);
    EXPECT_GE(level, raw);
    EXPECT_LE(level, highest + 9e6);
  }
}

TEST(DrainEnvelope, TimeThatStandsStillOrGoesBackReleasesNothing) {
  DrainEnvelope envelope({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  TimePoint now = TimePoint{} + seconds(10);
  envelope.Update(now, 40e6);
  envelope.Update(now += seconds(1), 0);
  EXPECT_DOUBLE_EQ(envelope.Update(now, 0), 40e6);
  EXPECT_DOUBLE_EQ(envelope.Update(now - seconds(5), 0), 40e6);
}

TEST(DrainEnvelope, StepsOfAnyLengthGiveTheSame) {
  DrainEnvelope fine({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  DrainEnvelope coarse({.gulp_bytes = kFile, .first_cycle = seconds(4)});
  for (DrainEnvelope* e : {&fine, &coarse}) {
    e->Update(TimePoint{}, 40e6);
    e->Update(TimePoint{} + kTick, 0);
  }
  for (int i = 1; i <= 20; ++i) fine.Update(TimePoint{} + kTick + i * kTick, 0);
  EXPECT_NEAR(fine.Update(TimePoint{} + 22 * kTick, 0), coarse.Update(TimePoint{} + 22 * kTick, 0), 1);
}

}  // namespace
}  // namespace weir
