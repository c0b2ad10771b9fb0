// DueHeap: the times at which something is due for reservations of a memory store, the earliest first. The heap keeps
// entries of reservations that are gone or have another time by now ("stale" entries) until they are taken, or until
// they are most of the heap.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "config/clock.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {

class DueHeap {
 public:
  struct Due {
    WallTime time;
    ReservationToken token;
  };

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // Returns the entry with the earliest time. REQUIRES: the heap is not empty.
  const Due& front() const { return heap_.front(); }

  void Push(const Due& due) {
    heap_.push_back(due);
    std::ranges::push_heap(heap_, Later);
  }
  // Removes and returns the entry with the earliest time. REQUIRES: the heap is not empty.
  Due Pop() {
    std::ranges::pop_heap(heap_, Later);
    const Due due = heap_.back();
    heap_.pop_back();
    return due;
  }
  // Drops the stale entries if they are most of the heap. `times` is a map from the token of each reservation to a
  // value whose time `time_of` gives.
  void DropStale(const auto& times, auto time_of) {
    static constexpr size_t kFew = 64;
    if (heap_.size() > 2 * times.size() + kFew) Rebuild(times, time_of);
  }
  // Makes the heap anew from `times`.
  void Rebuild(const auto& times, auto time_of) {
    heap_.clear();
    for (const auto& [token, value] : times) heap_.push_back({time_of(value), token});
    std::ranges::make_heap(heap_, Later);
  }

 private:
  static bool Later(const Due& a, const Due& b) { return a.time > b.time; }

  std::vector<Due> heap_;
};

}  // namespace weir
