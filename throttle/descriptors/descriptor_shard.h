// DescriptorShard: some of the names that hits are counted by, each with what it was charged in the window that runs.
//
// A window that has ended is forgotten. If the clock was set back, a window that has not begun is taken as the one that
// runs: what was charged goes on counting, but no longer than to the end of the one that runs.
//
// Names are bounded in bytes, and a name is never counted for less than it was charged. Each rule has a count for all
// of its names that are not held, its rest: when a name gives way, the rest rises to what that name was charged, and a
// name that is made begins with the rest. A name gives way if it was charged no more than the rest of its rule, or if
// its rule holds more bytes than the rule that wants room would. If none gives way, the hits are charged to the rest.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
  struct Surroundings {
    const WallClock& wall_clock;  // the clocks must outlive it
    const Clock& clock;           // for the sweep
    size_t max_bytes;
    std::function<void(TimePoint)> wants_tick;
  };
  explicit DescriptorShard(Surroundings surroundings)
      : surroundings_(std::move(surroundings)), bytes_(surroundings_.max_bytes) {}

  struct Charged {
    uint64_t before = 0;
    uint64_t after = 0;
    Duration until_reset{};
    bool with_others = false;  // hits of other names are in it
  };
  // Charges hits to the name, which begins with its unit. `rule` is the name of the limit that is charged.
  Charged Charge(const HashedName& name, std::string_view rule, uint64_t hits) {
    return *Charge(name, rule, hits, /*may_begin=*/true);
  }
  // Returns nullopt if the name was not charged yet in the window that runs; it is not charged now either.
  std::optional<Charged> ChargeIfBegun(const HashedName& name, uint64_t hits) {
    return Charge(name, {}, hits, /*may_begin=*/false);
  }

  void Tick();
  // Returns when it wants to be called; never (TimePoint::max()) if there is no name.
  TimePoint NextTick() const { return next_sweep_; }
  // These may be called from any thread.
  uint64_t names() const {
    const uint64_t gone = gone_.value();
    return made_.value() - gone;
  }
  uint64_t gave_way() const { return gave_way_.value(); }
  uint64_t bytes() const { return bytes_.held(); }

 private:
  struct Window {
    uint64_t charged;
    int64_t number;  // counted since 1970 by the unit
  };
  struct Rule {
    LimitUnit unit;
    Window rest;
    size_t bytes = 0;  // held by its names
  };
  struct Count {
    Window window;
    Rule* rule;
  };
  template <typename Value>
  using ByName = std::unordered_map<std::string, Value, HashName, SameName>;
  using Counts = ByName<Count>;

  int64_t NowSeconds() const;
  std::optional<Charged> Charge(const HashedName& name, std::string_view rule, uint64_t hits, bool may_begin);
  uint64_t RestOf(std::string_view rule, int64_t number) const;
  Rule& RuleOf(std::string_view name, int64_t number);
  // Makes the count of that name; returns the rest of its rule if there is no room.
  Window* Make(const HashedName& name, Rule* rule, int64_t now);
  bool MakeRoom(size_t bytes, const Rule& wanting, int64_t now);
  void GiveWay(const Counts::value_type& held);
  // Moves the window on to that number. Returns true if it had ended; then it counts 0.
  static bool MoveOn(int64_t number, Window* window);
  // Returns true if the name's window has ended; then its bytes are given back.
  bool HasEnded(int64_t now, Counts::value_type* held);
  void GiveBack(const Counts::value_type& held);

  Surroundings surroundings_;
  Bound bytes_;
  ByName<Rule> rules_;
  Counts counts_;
  Sweep sweep_, rule_sweep_;
  TimePoint next_sweep_ = TimePoint::max();
  SharedCount made_, gone_, gave_way_;
};

}  // namespace weir
