// FlushRelief: decides when the engine must flush the largest of its write buffers, because all together have become
// too large (Signal::relieved_by_flush). To make work wait is not enough: some of these buffers are flushed only when
// more work comes, and from a level of 1.0 on the engine stops all work.
//
// At a level of 1.0 or more it asks for a flush at once, and again every second. While the level stays above a
// threshold (`mark`), it asks after two seconds, and again every five.
//
// Not thread-safe.
#pragma once

#include <optional>

#include "config/clock.h"
#include "throttle/lasting.h"

namespace weir {

class FlushRelief {
 public:
  // Returns true if the engine must flush now; call it on every tick.
  bool Update(TimePoint now, double level, double mark);

 private:
  Lasting high_;
  std::optional<TimePoint> last_flush_;
};

}  // namespace weir
