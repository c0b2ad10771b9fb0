#include "config/text/rfc3339.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(Rfc3339, IsWrittenWithAsManyDigitsAsItTakes) {
  const WallTime second(std::chrono::seconds(1771597920));
  EXPECT_EQ(FormatTime(second), "2026-02-20T14:32:00Z");
  EXPECT_EQ(FormatTime(second + 500ms), "2026-02-20T14:32:00.5Z");
  EXPECT_EQ(FormatTime(second + 1ns), "2026-02-20T14:32:00.000000001Z");
  EXPECT_EQ(FormatTime(WallTime{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(WallTime{} - 1ns), "1969-12-31T23:59:59.999999999Z");
}

TEST(Rfc3339, IsReadBack) {
  for (const int64_t ns :
       {int64_t{0}, int64_t{-1}, int64_t{1'771'597'920'123'456'789}, int64_t{9'000'000'000'000'000'000}}) {
    const WallTime time{Duration(ns)};
    EXPECT_EQ(ParseTime(FormatTime(time)), time) << FormatTime(time);
  }
}

TEST(Rfc3339, TakesOffsetsFractionsAndLeapSeconds) {
  const WallTime noon(1'771'588'800s);  // 2026-02-20T12:00:00Z
  for (const char* text : {"2026-02-20T12:00:00Z", "2026-02-20t13:30:00+01:30", "2026-02-20 07:00:00-05:00",
                           "2026-02-20T11:59:60z", "2026-02-20T12:00:00.000Z"})
    EXPECT_EQ(ParseTime(text), noon) << text;
  EXPECT_EQ(ParseTime("2026-02-20T12:00:00.25Z"), noon + 250ms);
}

TEST(Rfc3339, TimesThatNanosecondsCannotSayHaveSeconds) {
  for (const char* text : {"9999-12-31T23:59:59Z", "1600-01-01T00:00:00Z", "2262-01-01T00:00:00Z"}) {
    EXPECT_EQ(ParseTime(text), std::nullopt) << text;
    EXPECT_TRUE(ParseSecond(text).has_value()) << text;
  }
  EXPECT_EQ(ParseSecond("9999-12-31T23:59:59Z"), std::chrono::sys_seconds(253'402'300'799s));
  EXPECT_EQ(ParseSecond("2026-02-30T00:00:00Z"), std::nullopt);
}

}  // namespace
}  // namespace weir
