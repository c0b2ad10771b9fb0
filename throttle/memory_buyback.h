// Buys back memory that waiting does not free: a cache that is full stays full, and so do the allocator's free pages.
//
// Memory above the mark for longer than a moment is answered by a flush, once a minute (every ten seconds above the
// whole target), and by an eighth of the cache each second, down to a quarter of it; each with a purge, for what they
// free is the allocator's until then. Well below the mark the cache gets an eighth back every ten seconds: less than
// the room that was waited for, so it does not swing.
//
// Not thread-safe.
#pragma once

#include <optional>

#include "config/clock.h"

namespace weir {

class MemoryBuyback {
 public:
  struct Step {
    bool flush = false;
    bool purge = false;
    double cache_share = 1;  // of its full size
  };

  // `level` and `mark` are of the memory target; at the whole target nothing waits for a moment to pass.
  Step Update(TimePoint now, double level, double mark);

 private:
  // How long a condition has held without a break.
  class Lasting {
   public:
    bool For(Duration time, TimePoint now, bool holds) {
      if (!holds) since_.reset();
      if (holds && !since_) since_ = now;
      return since_ && now - *since_ >= time;
    }

   private:
    std::optional<TimePoint> since_;
  };

  Lasting high_;
  Lasting low_;
  std::optional<TimePoint> last_flush_;
  std::optional<TimePoint> last_change_;  // of the cache
  double cache_share_ = 1;
};

}  // namespace weir
