#include "throttle/limits/queued/pace.h"

#include <cmath>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = TimePoint(hours(5));

TEST(Pace, DoesNotDriftHoweverLateARelease) {
  Pace pace(kStart, 3, 1);  // a third of a second is not a whole number of nanoseconds
  for (int i = 0; i < 3'000'000; ++i) pace.Take(kStart);
  EXPECT_NEAR(static_cast<double>((pace.Next() - kStart - seconds(1'000'000)).count()), 0, 1);  // ns
}

TEST(Pace, DoesNotSaveUnusedTurns) {
  Pace pace(kStart, 10, 1);
  pace.Take(kStart);
  EXPECT_EQ(pace.Next(), kStart + milliseconds(100));
  pace.Take(kStart + milliseconds(950));
  EXPECT_EQ(pace.Next(), kStart + milliseconds(1050));
}

// Compares it with tokens that trickle into a bucket, which is the same rule in other words.
RC_GTEST_PROP(PaceProperty, LetsThroughAsMuchAsATokenBucket, ()) {
  const double rate = *rc::gen::element(0.5, 3.0, 10.0, 1000.0);
  const auto burst = *rc::gen::inRange<uint32_t>(1, 6);
  Pace pace(kStart, rate, burst);
  double tokens = burst;
  TimePoint now = kStart;
  for (int step = 0; step < 200; ++step) {
    const Duration passes = FromSeconds(*rc::gen::inRange(0, 40) / 10.0 / rate) + Duration(step % 3);
    now += passes;
    tokens = std::min<double>(burst, tokens + ToSeconds(passes) * rate);
    const bool nearly = std::abs(tokens - std::round(tokens)) < 1e-8 * rate + 1e-6;  // within 10 ns
    if (!nearly) RC_ASSERT(pace.AtOnce(now) == static_cast<uint32_t>(tokens));
    RC_ASSERT((pace.AtOnce(now) > 0) == (pace.Next() <= now));
    if (pace.Next() > now) continue;
    pace.Take(now);
    tokens -= 1;
  }
}

TEST(Pace, OwesAsManyReleasesAfterItsRateHasChanged) {
  Pace pace(kStart, 0.1, 1);
  pace.Take(kStart);
  pace.Change(kStart + seconds(4), 10, 1);
  EXPECT_EQ(pace.Next(), kStart + seconds(4) + milliseconds(60));
  pace.Change(kStart + seconds(4), 10, 5);
  EXPECT_EQ(pace.AtOnce(kStart + seconds(4)), 4u);
}

TEST(Pace, IsFreshWhenABurstIsThereAgain) {
  Pace pace(kStart, 10, 3);
  EXPECT_TRUE(pace.IsFresh(kStart));
  pace.Take(kStart);
  pace.Take(kStart);
  EXPECT_FALSE(pace.IsFresh(kStart + milliseconds(199)));
  EXPECT_TRUE(pace.IsFresh(kStart + milliseconds(200)));
}

}  // namespace
}  // namespace weir
