#include "bench/measure/settled_limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace weir {
namespace {

constexpr double kOpen = std::numeric_limits<double>::infinity();

// The limit at each of 30 s.
SettledLimit Judge(const std::function<double(int)>& limit, double from_second = 0) {
  std::vector<LimitAt> trace;
  for (int second = 0; second < 30; ++second) trace.push_back({from_second + second, limit(second)});
  return JudgeLimit(trace);
}

TEST(SettledLimit, ASteadyLimitHasNoSpreadAndIsSettledAtOnce) {
  const SettledLimit judged = Judge([](int) { return 5.0; }, 100);
  EXPECT_EQ(judged.spread_percent, 0);
  EXPECT_EQ(judged.within_percent, 100);
  EXPECT_EQ(judged.seconds, 0);
}

TEST(SettledLimit, CountsFromTheBeginUntilItStaysWithinTwentyPercent) {
  const SettledLimit judged = Judge([](int second) { return second < 7 ? 10.0 : 5.0; }, 100);
  EXPECT_EQ(judged.seconds, 7);
  EXPECT_EQ(judged.spread_percent, 0);
}

TEST(SettledLimit, AReturnOutOfTheRangeCountsAndOneInsideDoesNot) {
  EXPECT_EQ(Judge([](int second) { return second == 3 ? 6.01 : 5.0; }).seconds, 4);
  EXPECT_EQ(Judge([](int second) { return second == 3 ? 5.99 : 5.0; }).seconds, 0);
}

TEST(SettledLimit, ASawNeverSettlesAndShowsItsTeeth) {
  const SettledLimit judged = Judge([](int second) { return second % 2 == 0 ? 1.0 : 4.0; });
  EXPECT_EQ(judged.spread_percent, 75) << "the median is the upper one of two";
  EXPECT_EQ(judged.within_percent, 50);
  EXPECT_TRUE(std::isnan(judged.seconds));
}

// The last third begins at 20 s.
TEST(SettledLimit, OneMomentInTheLastThirdIsEnoughNotToSettle) {
  for (const auto& [moment, settles] : {std::pair(19, true), std::pair(20, false), std::pair(29, false)}) {
    const SettledLimit judged = Judge([m = moment](int second) { return second == m ? 2.5 : 5.0; });
    EXPECT_EQ(judged.spread_percent, settles ? 0 : 50) << moment;
    EXPECT_EQ(!std::isnan(judged.seconds), settles) << moment;
  }
}

TEST(SettledLimit, AMomentWithoutALimitIsADeviationOfAHundredPercent) {
  const SettledLimit judged = Judge([](int second) { return second == 25 ? kOpen : 5.0; });
  EXPECT_EQ(judged.spread_percent, 100);
  EXPECT_TRUE(std::isnan(judged.seconds));
  EXPECT_EQ(Judge([](int second) { return second < 10 ? kOpen : 5.0; }).seconds, 10);
}

TEST(SettledLimit, WithoutALimitThereIsNothingToJudge) {
  for (const SettledLimit& judged :
       {JudgeLimit({}), Judge([](int) { return kOpen; }), Judge([](int) { return 0.0; })}) {
    EXPECT_TRUE(std::isnan(judged.spread_percent));
    EXPECT_TRUE(std::isnan(judged.seconds));
  }
}

TEST(SettledLimit, OneMomentIsEnough) {
  const SettledLimit judged = JudgeLimit({{3, 5}});
  EXPECT_EQ(judged.spread_percent, 0);
  EXPECT_EQ(judged.seconds, 0);
}

}  // namespace
}  // namespace weir
