// Counts the open reservations, as far as one process can tell. One that it made counts until it is settled or its time
// is over, whatever becomes of the store's counts. One that another process made and this one settles is subtracted
// until its time is over, so that the sum over all processes is right. Exact to the second.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "config/clock.h"

namespace weir {

class OpenReservations {
 public:
  void Made(TimePoint now, Duration time_left) { Add(now, time_left, 1); }
  void Settled(TimePoint now, Duration time_left) { Add(now, time_left, -1); }

  int64_t Count(TimePoint now) const {
    const std::lock_guard lock(mutex_);
    int64_t count = 0;
    for (auto due = by_deadline_.lower_bound(Second(now)); due != by_deadline_.end(); ++due) count += due->second;
    return count;
  }

 private:
  static int64_t Second(TimePoint time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  }
  void Add(TimePoint now, Duration time_left, int64_t difference) {
    const std::lock_guard lock(mutex_);
    by_deadline_.erase(by_deadline_.begin(), by_deadline_.lower_bound(Second(now)));
    by_deadline_[Second(now + time_left)] += difference;
  }

  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> by_deadline_;  // by second; no more than the longest time to live has
};

}  // namespace weir
