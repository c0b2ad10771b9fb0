// MemoryBuyback: decides when the engine must release memory. There are three ways: a flush of its memtables, a smaller
// cache, and a purge, which makes the allocator return its free pages to the system. Delaying work does not free this
// memory, because a full cache stays full, and the allocator keeps free pages.
//
// While the memory in use stays above a threshold (`mark`), the engine flushes once a minute (every ten seconds if the
// memory is at or above the memory target), and its cache shrinks by an eighth of its full size each second, until a
// quarter is left. Each flush and each reduction of the cache comes with a purge. While the memory stays well below the
// threshold, the cache grows by an eighth of its full size every ten seconds. "Well below" is further than one step can
// raise the memory, so the size of the cache does not oscillate; with a low threshold it is half of the threshold.
//
// Not thread-safe.
#pragma once

#include <optional>

#include "config/clock.h"
#include "throttle/lasting.h"

namespace weir {

class MemoryBuyback {
 public:
  // The actions to take now.
  struct Step {
    bool flush = false;
    bool purge = false;
    double cache_share = 1;  // the size that the cache may have, as a share of its full size
  };

  // Returns the step to take now; call it on every tick. `level` (the memory in use) and `mark` are shares of the
  // memory target. A level above `mark` has an effect only after two seconds, a level of 1 or more at once.
  Step Update(TimePoint now, double level, double mark);

 private:
  Lasting high_;
  Lasting low_;
  std::optional<TimePoint> last_flush_;
  std::optional<TimePoint> last_change_;  // when the cache share changed
  double cache_share_ = 1;
};

}  // namespace weir
