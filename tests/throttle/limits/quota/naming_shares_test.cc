#include "throttle/limits/quota/naming_shares.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using namespace std::chrono_literals;

// Ten other parties begin ten names each.
class NamingSharesTest : public testing::Test {
 protected:
  void LearnOfOthers(TimePoint now) {
    for (int i = 0; i < 10; ++i) shares_.Learn("other " + std::to_string(i), 10, true, now);
  }

  const TimePoint start_{TimePoint(1000h)};
  NamingShares shares_;
};

TEST_F(NamingSharesTest, APartyMayBeginATenthOfTheNamesAndIsNamedOnce) {
  LearnOfOthers(start_);
  shares_.Learn("flood", 1000, true, start_);
  EXPECT_TRUE(shares_.store_is_nearly_full());
  EXPECT_FALSE(shares_.MayName("flood", start_));
  EXPECT_FALSE(shares_.MayName("flood", start_));
  EXPECT_TRUE(shares_.MayName("other 1", start_));
  EXPECT_TRUE(shares_.MayName("new", start_));
  EXPECT_EQ(shares_.TakeWarnings().size(), 1U);
  EXPECT_EQ(shares_.TakeWarnings().size(), 0U);
}

TEST_F(NamingSharesTest, APartyMayBeginAHundredNamesEvenIfOthersBeginFew) {
  shares_.Learn("first", 100, true, start_);
  shares_.Learn("second", 1, true, start_);
  EXPECT_TRUE(shares_.MayName("first", start_));
  EXPECT_TRUE(shares_.MayName("second", start_));
  EXPECT_EQ(shares_.TakeWarnings().size(), 0U);
  shares_.Learn("first", 1, true, start_);
  EXPECT_FALSE(shares_.MayName("first", start_));
  EXPECT_TRUE(shares_.MayName("second", start_));
  EXPECT_EQ(shares_.TakeWarnings().size(), 1U);
}

TEST_F(NamingSharesTest, PartiesThatBeginNoNameDoNotCrowdOutOthers) {
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(shares_.MayName("asks " + std::to_string(i), start_));
  shares_.Learn("one", 60, true, start_);
  shares_.Learn("two", 60, true, start_);
  EXPECT_TRUE(shares_.MayName("one", start_)) << "it does not count as one with the other";
  EXPECT_TRUE(shares_.MayName("two", start_));
}

TEST_F(NamingSharesTest, ANameCountsForOneToTwoHours) {
  for (const auto& [later, may] :
       {std::pair<Duration, bool>{1h - 1ns, false}, {1h, false}, {2h - 1ns, false}, {2h, true}, {24h, true}}) {
    NamingShares shares;
    shares.Learn("flood", 1000, true, start_);
    for (int i = 0; i < 10; ++i) shares.Learn("other " + std::to_string(i), 10, true, start_ + later);
    EXPECT_EQ(shares.MayName("flood", start_ + later), may) << later.count();
  }
}

// The ten others begin names each hour, so that the counts of the hour before last are dropped.
TEST_F(NamingSharesTest, NamesBegunTwoHoursAgoNoLongerCount) {
  shares_.Learn("flood", 1000, true, start_);
  LearnOfOthers(start_ + 1h);
  EXPECT_FALSE(shares_.MayName("flood", start_ + 1h));
  LearnOfOthers(start_ + 2h);
  EXPECT_TRUE(shares_.MayName("flood", start_ + 2h));
}

}  // namespace
}  // namespace weir
