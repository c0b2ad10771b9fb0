#include "throttle/limits/quota/calendar.h"

#include <absl/time/time.h>

#include "config/text/parse.h"

namespace weir {

struct Calendar::Zone {
  absl::TimeZone zone;

  absl::CivilSecond LocalTime(WallTime now) const { return absl::ToCivilSecond(absl::FromChrono(now), zone); }
  WallTime BeginOf(absl::CivilDay day) const {
    return std::chrono::time_point_cast<Duration>(absl::ToChronoTime(absl::FromCivil(day, zone)));
  }
};

Calendar::Calendar() : zone_(std::make_shared<Zone>(Zone{absl::UTCTimeZone()})) {}

Result<Calendar> Calendar::Of(const std::string& time_zone) {
  Calendar calendar;
  Zone zone;
  if (!absl::LoadTimeZone(time_zone, &zone.zone))
    return Status::Error("found \"" + Printable(time_zone) +
                         "\", expected a time zone that /usr/share/zoneinfo has, such as Europe/Berlin");
  calendar.zone_ = std::make_shared<Zone>(zone);
  return calendar;
}

Calendar::Period Calendar::DayOf(WallTime now) const {
  const absl::CivilDay day(zone_->LocalTime(now));
  return {.date = (day.year() * 100 + day.month()) * 100 + day.day(), .ends = zone_->BeginOf(day + 1)};
}

Calendar::Period Calendar::MonthOf(WallTime now) const {
  const absl::CivilMonth month(zone_->LocalTime(now));
  return {.date = month.year() * 100 + month.month(), .ends = zone_->BeginOf(absl::CivilDay(month + 1))};
}

}  // namespace weir
