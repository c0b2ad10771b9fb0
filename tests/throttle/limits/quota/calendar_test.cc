#include "throttle/limits/quota/calendar.h"

#include <gtest/gtest.h>

#include "config/text/rfc3339.h"

namespace weir {
namespace {

Calendar In(const std::string& zone) { return Calendar::Of(zone).value(); }
std::string EndOfDay(const Calendar& calendar, std::string_view now) {
  return FormatTime(calendar.DayOf(*ParseTime(now)).ends);
}
std::string EndOfMonth(const Calendar& calendar, std::string_view now) {
  return FormatTime(calendar.MonthOf(*ParseTime(now)).ends);
}

TEST(Calendar, DaysAndMonthsOfUtc) {
  const Calendar utc;
  EXPECT_EQ(EndOfDay(utc, "2026-02-28T00:00:00Z"), "2026-03-01T00:00:00Z");
  EXPECT_EQ(EndOfDay(utc, "2026-02-28T23:59:59.999999999Z"), "2026-03-01T00:00:00Z");
  EXPECT_EQ(EndOfDay(utc, "2028-02-28T12:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(EndOfMonth(utc, "2026-12-01T00:00:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(EndOfMonth(utc, "2026-02-28T23:59:59Z"), "2026-03-01T00:00:00Z");
}

TEST(Calendar, ADayHas23Or25HoursWhenClocksChange) {
  const Calendar berlin = In("Europe/Berlin");
  EXPECT_EQ(EndOfDay(berlin, "2026-03-28T23:00:00Z"), "2026-03-29T22:00:00Z") << "23 h";
  EXPECT_EQ(EndOfDay(berlin, "2026-10-24T22:00:00Z"), "2026-10-25T23:00:00Z") << "25 h";
  EXPECT_EQ(EndOfDay(berlin, "2026-10-25T00:30:00Z"), "2026-10-25T23:00:00Z");
  EXPECT_EQ(EndOfDay(berlin, "2026-10-25T01:30:00Z"), "2026-10-25T23:00:00Z") << "the same time of day, an hour later";
  EXPECT_EQ(EndOfMonth(berlin, "2026-02-28T23:00:00Z"), "2026-03-31T22:00:00Z");
  EXPECT_EQ(EndOfMonth(berlin, "2045-07-01T00:00:00Z"), "2045-07-31T22:00:00Z") << "by the rule, beyond all tables";
}

// In Beirut the clocks went back at 2022-10-30 00:00 to 23:00, and the day 2022-03-27 began at 01:00.
TEST(Calendar, HandlesClockChangesAtMidnight) {
  const Calendar beirut = In("Asia/Beirut");
  EXPECT_EQ(EndOfDay(beirut, "2022-03-26T21:59:59Z"), "2022-03-26T22:00:00Z");
  EXPECT_EQ(EndOfDay(beirut, "2022-03-26T22:00:00Z"), "2022-03-27T21:00:00Z");
  EXPECT_EQ(EndOfDay(beirut, "2022-10-29T20:30:00Z"), "2022-10-29T22:00:00Z");
  EXPECT_EQ(EndOfDay(beirut, "2022-10-29T21:30:00Z"), "2022-10-29T22:00:00Z") << "23:30 for the second time";
}

TEST(Calendar, APeriodIsTheSameForAllItsInstants) {
  for (const char* zone : {"UTC", "Europe/Berlin", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe"}) {
    const Calendar calendar = In(zone);
    WallTime now = *ParseTime("2022-01-01T00:00:00Z");
    Calendar::Period day, month;
    for (int i = 0; i < 2 * 366 * 48; ++i, now += std::chrono::minutes(30)) {
      for (const auto& [last, next] :
           {std::pair(&day, calendar.DayOf(now)), std::pair(&month, calendar.MonthOf(now))}) {
        ASSERT_GT(next.ends, now) << zone << " " << FormatTime(now);
        ASSERT_TRUE(next.ends == last->ends || now >= last->ends) << zone << " " << FormatTime(now);
        ASSERT_EQ(next.ends == last->ends, next.date == last->date) << zone << " " << FormatTime(now);
        ASSERT_GE(next.date, last->date) << zone << " " << FormatTime(now);
        *last = next;
      }
    }
  }
}

TEST(Calendar, APeriodIsKnownByTheDateOfItsZone) {
  const WallTime now = *ParseTime("2026-02-28T23:30:00Z");
  EXPECT_EQ(Calendar().DayOf(now).date, 20'260'228);
  EXPECT_EQ(Calendar().MonthOf(now).date, 202'602);
  EXPECT_EQ(In("Europe/Berlin").DayOf(now).date, 20'260'301);
  EXPECT_EQ(In("Europe/Berlin").MonthOf(now).date, 202'603);
  EXPECT_EQ(In("America/New_York").DayOf(now).date, 20'260'228) << "the same day, which ends later";
  EXPECT_EQ(In("America/New_York").MonthOf(now).date, 202'602);
}

TEST(Calendar, AZoneThatThereIsNotIsNamed) {
  for (const char* zone : {"Europe/Atlantis", "", "../../etc/passwd", "/etc/passwd"})
    EXPECT_NE(Calendar::Of(zone).status().message().find("expected a time zone that /usr/share/zoneinfo has"),
              std::string::npos)
        << zone;
}

}  // namespace
}  // namespace weir
