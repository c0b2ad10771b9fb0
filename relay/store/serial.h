// Serial: the number that an event gets when it is stored. Moment: which events were stored at one time.
//
// Every process that saves is an origin, and the only one that gives its serials: they grow in the order in which its
// events become visible. An embedded store has one origin, 0.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace weir {

struct Serial {
  uint32_t origin = 0;
  uint64_t number = 0;  // 0: not stored

  auto operator<=>(const Serial&) const = default;
};

class Moment {
 public:
  // Returns true if the event was stored by then.
  bool Has(Serial serial) const { return serial.number <= NumberOf(serial.origin); }
  // Returns the last serial of this origin; 0: none.
  uint64_t NumberOf(uint32_t origin) const {
    const auto found = std::ranges::lower_bound(last_, origin, {}, &Serial::origin);
    return found == last_.end() || found->origin != origin ? 0 : found->number;
  }
  // Returns true if this has everything that the other has.
  bool Covers(const Moment& other) const {
    return std::ranges::all_of(other.last_, [this](Serial serial) { return Has(serial); });
  }
  void Advance(Serial to) {
    const auto found = std::ranges::lower_bound(last_, to.origin, {}, &Serial::origin);
    if (found == last_.end() || found->origin != to.origin) {
      last_.insert(found, to);
    } else {
      found->number = std::max(found->number, to.number);
    }
  }
  // The last serial of each origin, in the order of the origins.
  const std::vector<Serial>& last() const { return last_; }

 private:
  std::vector<Serial> last_;  // few: as many as there are relays
};

}  // namespace weir
