// Calendar: the days and months of a time zone. Where clocks are put forward or back a day has 23 or 25 hours.
//
// Immutable; any number of threads.
#pragma once

#include <memory>
#include <string>

#include "config/clock.h"
#include "config/status.h"

namespace weir {

class Calendar {
 public:
  // By its name in the tz database, "Europe/Berlin". The error says that the machine knows none of it.
  static Result<Calendar> Of(const std::string& time_zone);
  // Of UTC.
  Calendar();

  // When the day, or the month, in which `now` lies is over.
  WallTime EndOfDay(WallTime now) const;
  WallTime EndOfMonth(WallTime now) const;

 private:
  struct Zone;  // the library's own stay in one source
  std::shared_ptr<const Zone> zone_;
};

}  // namespace weir
