// DescriptorShard: counts, for some of the names of a DescriptorLimiter, how many hits each was charged in the current
// window. A name is made of a descriptor, its domain and the unit of time of its limit (limit_unit.h).
//
// A window that has ended is forgotten. If the clock was set back, so that the window of a name has not begun yet, its
// hits count in the current window instead, until the current one ends.
//
// The memory for names is bounded, but the count of a name is never lower than the hits it was charged. Each rule has
// one more count, its rest, for those of its names that the shard does not hold. When a name is dropped to make room,
// the rest is raised to the count of that name; the count of a new name begins at the rest. A name may be dropped if
// its count is at most the rest of its rule, or if its rule holds more bytes than the rule of the new name would hold.
// If the shard finds no such name, it charges the hits to the rest.
//
// Threads: only one at a time may use a DescriptorShard, unless a comment says otherwise; Shards (by_name/shards.h)
// ensures that.
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
    const WallClock& wall_clock;  // for the windows; both clocks must outlive the shard
    const Clock& clock;           // for the sweep of old names
    size_t max_bytes;
    std::function<void(TimePoint)> wants_tick;  // asks for a call of Tick at that time
  };
  explicit DescriptorShard(Surroundings surroundings)
      : surroundings_(std::move(surroundings)), bytes_(surroundings_.max_bytes) {}

  struct Charged {
    uint64_t before = 0;       // the count in the current window before the charge
    uint64_t after = 0;        // and after it
    Duration until_reset{};    // until the window ends
    bool with_others = false;  // the name is new, and its count includes hits of other names
  };
  // Charges hits to the name, whose first byte is the unit; with 0 hits it only asks. `rule` is Limit::unit_name of the
  // limit that applies.
  Charged Charge(const HashedName& name, std::string_view rule, uint64_t hits) {
    return *Charge(name, rule, hits, /*may_begin=*/true);
  }
  // Charges hits only if the name was charged before in the current window. Else charges nothing and returns nullopt.
  std::optional<Charged> ChargeIfBegun(const HashedName& name, uint64_t hits) {
    return Charge(name, {}, hits, /*may_begin=*/false);
  }

  // Forgets some of the names whose window has ended.
  void Tick();
  // Returns when Tick has to be called; TimePoint::max() if there is no name.
  TimePoint NextTick() const { return next_sweep_; }
  // The next three may be called from any thread. names() returns how many names are held, gave_way() how many were
  // dropped to make room, and bytes() the memory of the held names and their rules.
  uint64_t names() const {
    const uint64_t gone = gone_.value();
    return made_.value() - gone;
  }
  uint64_t gave_way() const { return gave_way_.value(); }
  uint64_t bytes() const { return bytes_.held(); }

 private:
  struct Window {
    uint64_t charged;
    int64_t number;  // the window's number, counted in units since 1970
  };
  struct Rule {
    LimitUnit unit;
    Window rest;
    size_t bytes = 0;  // the bytes of this rule's names that the shard holds
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
  // Makes a count for the name. Returns the rest of its rule if there is no room.
  Window* Make(const HashedName& name, Rule* rule, int64_t now);
  bool MakeRoom(size_t bytes, const Rule& wanting, int64_t now);
  void GiveWay(const Counts::value_type& held);
  // Moves the window on to that number. Returns true if the old window had ended; the new one then begins with 0 hits.
  static bool MoveOn(int64_t number, Window* window);
  // Returns true if the window of the name has ended. Then it has given back the name's bytes, and the caller must
  // remove the name.
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
