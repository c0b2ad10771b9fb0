// DescriptorShard: some of the names that hits are counted by, each with what it was charged in the window that runs.
//
// A window that has ended is forgotten. One that has not begun, since the clock was set back, is taken as the one that
// runs: what was charged goes on counting, and no longer than to the end of that one.
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
  // Names begin with their unit. rule: the name of the limit that is charged.
  Charged Charge(const HashedName& name, std::string_view rule, uint64_t hits) {
    return *Charge(name, rule, hits, /*may_begin=*/true);
  }
  // Nothing: the name was not charged yet in the window that runs, and is not now.
  std::optional<Charged> ChargeIfBegun(const HashedName& name, uint64_t hits) {
    return Charge(name, {}, hits, /*may_begin=*/false);
  }

  void Tick();
  // When it wants to be called: never, where there is no name.
  TimePoint NextTick() const { return next_sweep_; }
  // Any thread.
  uint64_t names() const {
    const uint64_t gone = gone_.value();
    return made_.value() - gone;
  }
  uint64_t gave_way() const { return gave_way_.value(); }
  uint64_t bytes() const { return bytes_.held(); }

 private:
  struct Window {
    uint64_t charged;
    int64_t number;  // since 1970, of the unit
  };
  struct Rule {
    LimitUnit unit;
    Window rest;
    size_t bytes = 0;  // of its names
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
  // The count of that name; the rest of its rule where there is no room.
  Window* Make(const HashedName& name, Rule* rule, int64_t now);
  bool MakeRoom(size_t bytes, const Rule& wanting, int64_t now);
  void GiveWay(const Counts::value_type& held);
  // To the window of now. True: what was charged was of one that has ended.
  static bool MoveOn(int64_t number, Window* window);
  // Then its bytes are given back.
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
