// Serial: the sequence number that a store assigns to an event when it saves the event. Moment: the set of events that
// a store has at one time. A moment is represented by the last serial of each origin, and by single serials beyond
// them.
//
// An origin is a series of serials, which one process at a time assigns. A RocksDB database has one origin, 0. In a
// PostgreSQL database each process that saves events has an origin of its own, and a relay has a second one for the old
// events that are imported through it. The serials of an origin grow in the order in which readers see its events.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace weir {

struct Serial {
  uint32_t origin = 0;
  uint64_t number = 0;  // 0: the event is not stored

  auto operator<=>(const Serial&) const = default;
};

class Moment {
 public:
  // Returns true if the event with this serial is in the moment, and always if its number is 0.
  bool Has(Serial serial) const {
    return serial.number <= NumberOf(serial.origin) || std::ranges::binary_search(later_, serial);
  }
  // Returns the number of the last serial of this origin; 0 if the origin had stored nothing.
  uint64_t NumberOf(uint32_t origin) const {
    const auto found = std::ranges::lower_bound(last_, origin, {}, &Serial::origin);
    return found == last_.end() || found->origin != origin ? 0 : found->number;
  }
  // Returns true if this moment has every event that `other` has.
  bool Covers(const Moment& other) const {
    return std::ranges::all_of(other.last_, [this](Serial serial) { return Has(serial); });
  }
  // Adds all events of the origin up to and including this serial. Does nothing if the moment has them already.
  void Advance(Serial to) {
    const auto found = std::ranges::lower_bound(last_, to.origin, {}, &Serial::origin);
    if (found == last_.end() || found->origin != to.origin) {
      last_.insert(found, to);
    } else {
      found->number = std::max(found->number, to.number);
    }
  }
  // Adds one event alone, which was saved later. last() does not show it.
  void AddOne(Serial serial) {
    const auto place = std::ranges::lower_bound(later_, serial);
    if (place == later_.end() || *place != serial) later_.insert(place, serial);
  }
  size_t single_events() const { return later_.size(); }
  // Returns the last serial of each origin, in the order of the origins.
  const std::vector<Serial>& last() const { return last_; }

 private:
  std::vector<Serial> last_;   // one for each origin, in the order of the origins
  std::vector<Serial> later_;  // single events beyond those, sorted
};

}  // namespace weir
