// OpenReservations: this process's count of open reservations, made so that the sum of the counts of all processes with
// the same store is the number of open reservations. A reservation that this process makes counts as 1 until its
// deadline, or until this process settles it (commits or refunds it). A reservation that another process made and this
// process settles counts as -1 until its deadline, because the other process still counts it as 1. A deadline is exact
// to the second. The count does not notice if the store forgets a reservation, for example after a reset.
//
// Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

class OpenReservations {
 public:
  // Counts a reservation that this process has made or extended. `time_left` is the time until its deadline.
  void Made(TimePoint now, Duration time_left) { Add(now, time_left, 1); }
  // Subtracts a reservation that this process has settled, or has extended (then call Made too). `time_left` is the
  // time that the reservation had until its deadline before that.
  void Settled(TimePoint now, Duration time_left) { Add(now, time_left, -1); }

  // Returns this process's count, which may be below 0.
  int64_t Count(TimePoint now) const {
    const MutexLock lock(mutex_);
    int64_t count = 0;
    for (auto due = by_deadline_.lower_bound(Second(now)); due != by_deadline_.end(); ++due) count += due->second;
    return count;
  }

 private:
  static int64_t Second(TimePoint time) {
    return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  }
  void Add(TimePoint now, Duration time_left, int64_t difference) {
    const MutexLock lock(mutex_);
    by_deadline_.erase(by_deadline_.begin(), by_deadline_.lower_bound(Second(now)));
    by_deadline_[Second(now + time_left)] += difference;
  }

  mutable Mutex mutex_;
  // The sums of the counts, by the second of the deadline: one entry at most for each second of the longest time to
  // live.
  std::map<int64_t, int64_t> by_deadline_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
