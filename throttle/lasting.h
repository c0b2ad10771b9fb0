// Lasting: measures how long a condition has been true without a break. Not thread-safe.
#pragma once

#include <optional>

#include "config/clock.h"

namespace weir {

class Lasting {
 public:
  // Returns true if the condition is true now (`holds`) and has been for at least `time`.
  bool For(Duration time, TimePoint now, bool holds) {
    if (!holds) since_.reset();
    if (holds && !since_) since_ = now;
    return since_ && now - *since_ >= time;
  }

 private:
  std::optional<TimePoint> since_;
};

}  // namespace weir
