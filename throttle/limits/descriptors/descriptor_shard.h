// DescriptorShard: stores some of the names of a DescriptorLimiter, and counts the hits of each name in the current
// window. As in Envoy's rate limits, a descriptor is a list of keys with values that describes a request, and a domain
// is a set of rules. A name is made of a descriptor, its domain and the unit of time of its limit (limit_unit.h).
//
// The shard removes a name some time after its window has ended. If the system clock was set back, the stored window of
// a name may lie in the future. The shard then takes the count of that window as the count of the current window, and
// goes on counting.
//
// The memory for names is bounded. Still, the count of a name is never lower than the hits that were charged to it in
// the current window. Each rule has one more count, called its rest, for all names of the rule that the shard does not
// store. If there is no room for a new name, the shard removes another name and, if the rest of that name's rule is
// lower than the name's count, raises the rest to this count. The count of the new name begins at the rest of its own
// rule. The shard may remove a name whose count is at most the rest of its rule, or whose rule has more bytes than the
// rule of the new name would have. If the shard does not find such a name soon, it does not store the new name, and
// charges the hits to the rest.
//
// Threads: only one at a time may use a DescriptorShard, unless a comment says otherwise. Shards (by_name/shards.h)
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
#include "throttle/limits/by_name/shared_count.h"
#include "throttle/limits/by_name/sweep.h"
#include "throttle/limits/descriptors/limit_unit.h"

namespace weir {

class DescriptorShard {
 public:
  struct Surroundings {
    const WallClock& wall_clock;  // decides which window is the current one; both clocks must outlive the shard
    const Clock& clock;           // decides when to look for names whose window has ended
    size_t max_bytes;
    std::function<void(TimePoint)> wants_tick;  // called with the time at which the shard needs a call of Tick
  };
  explicit DescriptorShard(Surroundings surroundings)
      : surroundings_(std::move(surroundings)), bytes_(surroundings_.max_bytes) {}

  struct Charged {
    uint64_t before = 0;       // the count in the current window before the charge
    uint64_t after = 0;        // the count in the current window after the charge
    Duration until_reset{};    // the time until the window ends
    bool with_others = false;  // the shard did not store the name yet, and its count includes hits of other names
  };
  // Charges hits to the name: adds them to its count. With 0 hits it only reads the count. The first byte of the name
  // is its LimitUnit. `rule` identifies the rule of the name (Limit::unit_name in descriptor_rules.h).
  Charged Charge(const HashedName& name, std::string_view rule, uint64_t hits) {
    return *Charge(name, rule, hits, /*may_begin=*/true);
  }
  // Charges hits only if the name was charged before in the current window. Otherwise charges nothing and returns
  // nullopt.
  std::optional<Charged> ChargeIfBegun(const HashedName& name, uint64_t hits) {
    return Charge(name, {}, hits, /*may_begin=*/false);
  }

  // Removes some of the names whose window has ended.
  void Tick();
  // Returns the time at which Tick has to be called; TimePoint::max() if the shard stores no name and no rule.
  TimePoint NextTick() const { return next_sweep_; }
  // Any thread may call the next three. names() returns how many names the shard stores, gave_way() how many it has
  // removed to make room, and bytes() the memory of the stored names and of their rules.
  uint64_t names() const {
    const uint64_t gone = gone_.value();
    return made_.value() - gone;
  }
  uint64_t gave_way() const { return gave_way_.value(); }
  uint64_t bytes() const { return bytes_.held(); }

 private:
  struct Window {
    uint64_t charged;
    int64_t number;  // the window's number: the time since 1970 divided by the unit
  };
  struct Rule {
    LimitUnit unit;
    Window rest;
    size_t bytes = 0;  // the memory of the names of this rule that the shard stores
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
  // Stores the name, with a count that begins at the rest of its rule, and returns its window. If there is no room,
  // returns the window of the rest.
  Window* Make(const HashedName& name, Rule* rule, int64_t now);
  bool MakeRoom(size_t bytes, const Rule& wanting, int64_t now);
  void GiveWay(const Counts::value_type& held);
  // Moves *window on to the window `number`. Returns true if the old window had ended; then the count is 0 again.
  static bool MoveOn(int64_t number, Window* window);
  // Returns true if the window of the name has ended. In that case HasEnded releases the bytes of the name, and the
  // caller must remove the name.
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
