#include "config/text/readable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Readable, FiguresHaveTheirDecimals) {
  const std::tuple<double, int, std::string_view> cases[] = {
      {0, 2, "0.00"}, {0.625, 1, "0.6"}, {12, 2, "12.00"}, {-0.5, 3, "-0.500"}, {99.6, 0, "100"}};
  for (const auto& [number, decimals, text] : cases) EXPECT_EQ(Fixed(number, decimals), text);
}

TEST(Readable, SharesHaveTwoDigitsInPercent) {
  const std::pair<double, std::string_view> cases[] = {{0, "0.0 %"},     {0.042, "4.2 %"}, {0.0994, "9.9 %"},
                                                       {0.0996, "10 %"}, {0.43, "43 %"},   {1.03, "103 %"}};
  for (const auto& [share, text] : cases) EXPECT_EQ(Percent(share), text);
}

TEST(Readable, NumbersHaveThreeDigits) {
  const std::pair<uint64_t, std::string_view> cases[] = {
      {0, "0"},           {999, "999"},         {1000, "1.00k"},          {9994, "9.99k"},
      {9999, "10.0k"},    {23040, "23.0k"},     {115'200, "115k"},        {999'499, "999k"},
      {999'500, "1.00M"}, {1'234'567, "1.23M"}, {UINT64_MAX, "18446744T"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(ShortNumber(number), text);
  EXPECT_EQ(ReadableBytes(78'100'000), "78.1 MB");
  EXPECT_EQ(ReadableBytes(17), "17 B");
}

TEST(Readable, AnyNumberBecomesACount) {
  const std::tuple<double, uint64_t, uint64_t> cases[] = {
      {-1, 0, 0},
      {std::nan(""), 0, 0},
      {-kInfinity, 0, 0},
      {0.4, 0, 0},
      {0.5, 0, 1},
      {2.5, 2, 3},
      {23'040.4, 23'040, 23'040},
      {999.9, 999, 1000},
      {1e18, 1'000'000'000'000'000'000, 1'000'000'000'000'000'000},
      {1e30, 9'000'000'000'000'000'000, 9'000'000'000'000'000'000},
      {kInfinity, 9'000'000'000'000'000'000, 9'000'000'000'000'000'000}};
  for (const auto& [number, down, nearest] : cases) {
    EXPECT_EQ(AsCount(number), down) << number;
    EXPECT_EQ(RoundedCount(number), nearest) << number;
  }
}

TEST(Readable, TimesFitTheirLength) {
  EXPECT_EQ(ShortTime(std::chrono::microseconds(3100)), "3.1ms");
  EXPECT_EQ(ShortTime(milliseconds(12)), "12ms");
  EXPECT_EQ(ShortTime(milliseconds(999)), "999ms");
  EXPECT_EQ(ShortTime(milliseconds(3100)), "3.1s");
  EXPECT_EQ(ClockTime(seconds(31)), "0:31");
  EXPECT_EQ(ClockTime(seconds(3599)), "59:59");
  EXPECT_EQ(ClockTime(seconds(3723)), "1:02:03");
}

TEST(Readable, EscapesControlAndInvalidCharacters) {
  EXPECT_EQ(AsText("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(AsText("a\tb\x7f\x1b"), "a\\x09b\\x7f\\x1b");
  EXPECT_EQ(AsText("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(AsText("\u009b2J \u202egnp.exe \u2028"), "\\u009b2J \\u202egnp.exe \\u2028");
  EXPECT_EQ(AsText("\U0001F600 \u00a0\u200d"), "\U0001F600 \u00a0\u200d");
}

}  // namespace
}  // namespace weir
