// Calendar: finds the calendar day or month of a time zone in which a moment lies, and the end of that day or month. A
// day on which clocks are put forward or back has 23 or 25 hours. Counters of days and months are identified by the
// date and not by the end. So if the time zone changes, the end of a day moves, but its counter stays.
//
// Threads: any. A Calendar does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

class Calendar {
 public:
  // Returns the calendar of a time zone, which is named as in the tz database ("Europe/Berlin"). Returns an error if
  // this machine does not know the time zone.
  static Result<Calendar> Of(const std::string& time_zone);
  // Makes the calendar of UTC.
  Calendar();

  struct Period {
    int64_t date = 0;  // 20260228 for a day, 202602 for a month
    WallTime ends;     // the first moment after the period
  };
  // Returns the day, or the month, in which `now` lies.
  Period DayOf(WallTime now) const;
  Period MonthOf(WallTime now) const;

 private:
  struct Zone;  // keeps the time library's types in one source
  std::shared_ptr<const Zone> zone_;
};

}  // namespace weir
