// MemoryBuyback: buys back memory that waiting does not free: a full cache stays full, as do the allocator's free
// pages.
//
// Memory that stays above the mark is answered by a flush, once a minute (every ten seconds above the whole target),
// and by taking an eighth of the cache each second, down to a quarter of it. Each comes with a purge, because the
// allocator keeps what they free until then. Well below the mark the cache gets an eighth back every ten seconds: less
// than the room that had to be free before, so it does not swing.
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
    double cache_share = 1;  // share of the cache's full size
  };

  // `level` and `mark` are shares of the memory target. At the whole target it acts at once, not only when the level
  // has stayed high.
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
  std::optional<TimePoint> last_change_;  // when the cache share changed
  double cache_share_ = 1;
};

}  // namespace weir
