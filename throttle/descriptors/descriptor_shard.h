// DescriptorShard: some of the names that hits are counted by, each with what it was charged in the window that runs.
//
// A window that has ended is forgotten. One that has not begun, since the clock was set back, is taken as the one that
// runs: what was charged goes on counting, and no longer than to the end of that one.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "config/bound.h"
#include "config/clock.h"
#include "config/text/name_hash.h"
#include "throttle/by_name/shared_count.h"
#include "throttle/by_name/sweep.h"
#include "throttle/descriptors/limit_unit.h"

namespace weir {

class DescriptorShard {
 public:
  // All must outlive it.
  struct Surroundings {
    const WallClock& wall_clock;
    const Clock& clock;  // for the sweep
    Bound& bytes;
    std::function<void(TimePoint)> wants_tick;
  };
  explicit DescriptorShard(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

  struct Charged {
    uint64_t before = 0;
    uint64_t after = 0;
    Duration until_reset{};
  };
  // Nothing: the name cannot be held.
  std::optional<Charged> Charge(const HashedName& name, LimitUnit unit, uint64_t hits);

  void Tick();
  // When it wants to be called: never, where there is no name.
  TimePoint NextTick() const { return next_sweep_; }
  // Any thread.
  uint64_t names() const {
    const uint64_t forgotten = forgotten_.value();
    return made_.value() - forgotten;
  }

 private:
  struct Count {
    uint64_t charged;
    int64_t window;  // since 1970, of the unit
    LimitUnit unit;
  };

  using Counts = std::unordered_map<std::string, Count, HashName, SameName>;

  int64_t NowSeconds() const;
  Count* Make(const HashedName& name, LimitUnit unit, int64_t now);
  // To the window of now. True: what was charged was of one that has ended.
  static bool MoveOn(int64_t now, Count* count);
  // Then its bytes are given back.
  bool HasEnded(int64_t now, Counts::value_type* held);

  Surroundings surroundings_;
  Counts counts_;
  Sweep sweep_;
  TimePoint next_sweep_ = TimePoint::max();
  SharedCount made_, forgotten_;
};

}  // namespace weir
