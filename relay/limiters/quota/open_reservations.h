// OpenReservations: this process's part of the number of open reservations. The sum of the parts of all processes with
// the same store is that number. A reservation that this process made counts until this process settles it or its time
// is over. A reservation that another process made and this one settles counts as -1 until its time is over, because
// the other process still counts it. The part is exact to the second.
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
  // Counts a reservation that was made or extended here. `time_left` is the time until its deadline.
  void Made(TimePoint now, Duration time_left) { Add(now, time_left, 1); }
  // Counts a reservation that was settled here. `time_left` is the time that was left until its deadline.
  void Settled(TimePoint now, Duration time_left) { Add(now, time_left, -1); }

  // Returns this process's part, which may be below 0.
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
  std::map<int64_t, int64_t> by_deadline_;  // by second; at most as many as the longest time to live has seconds
};

}  // namespace weir
