// Calendar: the days and months of a time zone. If clocks are put forward or back a day has 23 or 25 hours. A period is
// known by its date, not by its end: it stays the same one when another time zone moves its end.
//
// Immutable; any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

class Calendar {
 public:
  // Finds a time zone by its name in the tz database, "Europe/Berlin". The error says that the machine does not know
  // it.
  static Result<Calendar> Of(const std::string& time_zone);
  // Uses UTC.
  Calendar();

  struct Period {
    int64_t date = 0;  // 20260228; for a month 202602
    WallTime ends;
  };
  // The day, or the month, in which `now` lies.
  Period DayOf(WallTime now) const;
  Period MonthOf(WallTime now) const;

 private:
  struct Zone;  // keeps the time library's types in one source
  std::shared_ptr<const Zone> zone_;
};

}  // namespace weir
