// Calendar: finds the calendar day or month that contains a given moment in a time zone, and the end of that day or
// month. A day on which the clocks are changed has, for example, 23 or 25 hours. The name of a counter (quota_store.h)
// contains the date of its day or month, but not its end. So if the operator changes the time zone, the end of the day
// or month moves, and the counter is kept, unless the new zone has another date at that moment.
//
// Thread-safe. A Calendar does not change after it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

class Calendar {
 public:
  // Returns the calendar of the time zone that has this name in the tz database, such as "Europe/Berlin". Returns an
  // error if the tz database of this machine does not have the name.
  static Result<Calendar> Of(const std::string& time_zone);
  // Makes the calendar of the time zone UTC.
  Calendar();

  struct Period {
    int64_t date = 0;  // 20260228 for a day, 202602 for a month
    WallTime ends;     // the first moment after the period
  };
  // Return the calendar day and the calendar month that contain `now`.
  Period DayOf(WallTime now) const;
  Period MonthOf(WallTime now) const;

 private:
  struct Zone;  // hides the types of the time library
  std::shared_ptr<const Zone> zone_;
};

}  // namespace weir
