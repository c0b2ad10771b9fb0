// Agenda: functions to call at given instants of virtual time. Functions for the same instant are called in the order
// in which they were added.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

class Agenda {
 public:
  void At(TimePoint when, std::function<void()> what) { entries_.push({when, next_order_++, std::move(what)}); }

  TimePoint Next() const { return entries_.empty() ? TimePoint::max() : entries_.top().when; }

  void RunDue(TimePoint now) {
    while (Next() <= now) {
      const std::function<void()> what = entries_.top().what;
      entries_.pop();
      what();
    }
  }

 private:
  struct Entry {
    TimePoint when;
    uint64_t order;
    std::function<void()> what;

    bool operator<(const Entry& other) const { return when != other.when ? when > other.when : order > other.order; }
  };

  std::priority_queue<Entry> entries_;
  uint64_t next_order_ = 0;
};

}  // namespace weir
