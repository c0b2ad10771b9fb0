// Arrivals: estimates on which day stored events came. No store keeps that time, and created_at does not say it,
// because its author chooses it. But serials grow in the order in which events came. So an event counts as having come
// at the latest created_at of all events before it and of itself (relay/standing/stored_history.h does the same).
// Events that are dated after the present are passed over for this. An import counts by the order of its events.
//
// The serials are divided into at most kPlaces ranges of equal size, and a range counts as a whole.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "relay/store/census/amount.h"

namespace weir {

class Arrivals {
 public:
  static constexpr uint64_t kPlaces = 16'384;

  // Serials beyond `last` are left out.
  Arrivals(uint64_t last, uint64_t now_seconds)
      : now_seconds_(now_seconds), width_(last / kPlaces + 1), places_(last / width_ + 1), last_(last) {}

  void AddEvent(uint64_t serial, uint64_t created_at) {
    if (serial > last_) return;
    Place& place = places_[serial / width_];
    ++place.unmeasured;
    if (created_at <= now_seconds_ && created_at > place.latest) place.latest = created_at;
  }
  // Gives sizes to the events that were added since the last call. `sample` has some of them, of `population` in all.
  void Measure(const Sample& sample, uint64_t population) {
    for (Place& place : places_)
      if (place.unmeasured > 0) place.amount += sample.Of(std::exchange(place.unmeasured, 0), population);
  }
  // Adds the events that have sizes to the days, counted from 1970, on which they came.
  void AddTo(std::map<uint64_t, Amount>* days) const {
    uint64_t latest = 0;
    for (const Place& place : places_) {
      if (place.latest > latest) latest = place.latest;
      if (place.amount.events > 0) (*days)[latest / kDaySeconds] += place.amount;
    }
  }

 private:
  struct Place {
    Amount amount;
    uint64_t unmeasured = 0;  // events
    uint64_t latest = 0;      // created_at
  };

  const uint64_t now_seconds_;
  const uint64_t width_;  // serials of a place
  std::vector<Place> places_;
  const uint64_t last_;
};

}  // namespace weir
