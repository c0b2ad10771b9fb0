#include "relay/observe/metrics/live_tables.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using std::chrono::seconds;

TEST(LiveTables, ShowSoManyRowsAndCountTheRest) {
  LiveRates rates;
  LiveTables tables(rates);
  LiveTable& table = tables.Add("many", "Many", {{"a"}}, "none");
  for (size_t i = 0; i < LiveTable::kMostRows + 5; ++i) table.AddRow({std::to_string(i)});
  const auto taken = std::move(tables).Take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].rows.size(), LiveTable::kMostRows);
  EXPECT_EQ(taken[0].rows[0][0], "0");
  EXPECT_EQ(taken[0].left_out, 5U);
}

TEST(LiveRates, AreOfTheTimeBetweenTwoLooks) {
  LiveRates rates;
  rates.Begin(TimePoint(seconds(10)));
  EXPECT_EQ(rates.PerSecond("a", 100), 0) << "of the first look nobody knows";
  rates.Begin(TimePoint(seconds(12)));
  EXPECT_EQ(rates.PerSecond("a", 120), 10);
  EXPECT_EQ(rates.PerSecond("new", 500), 0);
}

TEST(LiveRates, AreZeroAfterATimeWithoutALook) {
  LiveRates rates;
  rates.Begin(TimePoint(seconds(0)));
  rates.PerSecond("a", 100);
  rates.Begin(TimePoint(seconds(3600)));
  EXPECT_EQ(rates.PerSecond("a", 1'000'000), 0);
  rates.Begin(TimePoint(seconds(3601)));
  EXPECT_EQ(rates.PerSecond("a", 1'000'005), 5);
}

TEST(LiveRates, AreAveragedOverSomeSeconds) {
  LiveRates rates;
  double count = 0;
  for (int second = 0; second < 60; ++second) {
    rates.Begin(TimePoint(seconds(second)));
    rates.PerSecond("a", count += 100);
  }
  rates.Begin(TimePoint(seconds(60)));
  const double rate = rates.PerSecond("a", count);
  EXPECT_GT(rate, 50) << "a second in which nothing came does not make it 0";
  EXPECT_LT(rate, 100);
}

TEST(LiveRates, AreZeroForACountThatBeganAnewOrWasForgotten) {
  LiveRates rates;
  rates.Begin(TimePoint(seconds(0)));
  rates.PerSecond("a", 100);
  rates.PerSecond("b", 100);
  rates.Begin(TimePoint(seconds(1)));
  EXPECT_EQ(rates.PerSecond("a", 5), 0);
  rates.Begin(TimePoint(seconds(2)));
  EXPECT_EQ(rates.PerSecond("a", 7), 2);
  EXPECT_EQ(rates.PerSecond("b", 300), 0);
}

}  // namespace
}  // namespace weir
