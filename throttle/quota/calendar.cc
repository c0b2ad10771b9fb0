#include "throttle/quota/calendar.h"

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

WallTime Calendar::EndOfDay(WallTime now) const { return zone_->BeginOf(absl::CivilDay(zone_->LocalTime(now)) + 1); }

WallTime Calendar::EndOfMonth(WallTime now) const {
  return zone_->BeginOf(absl::CivilDay(absl::CivilMonth(zone_->LocalTime(now)) + 1));
}

}  // namespace weir
