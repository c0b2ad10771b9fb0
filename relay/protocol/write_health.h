// WriteHealth: remembers whether writes to the store succeed, and logs when that changes.
//
// Threads: any thread may call any function.
#pragma once

#include <string>

#include "config/clock.h"
#include "config/mutex.h"
#include "config/status.h"

namespace weir {

class WriteHealth {
 public:
  explicit WriteHealth(const Clock& clock) : clock_(clock) {}

  // Notes the outcome of a write.
  void Note(const Status& status);

  // Returns the error of the newest write if it failed within the last 10 seconds, else success. Older errors do not
  // count because /readyz uses this status: a relay that is not ready may get no events, and then no write could show
  // that it is ready again.
  Status LastWrite() const;
  // Returns a text for the operator: how long ago the newest failed write was, and its error; "none" if none has
  // failed.
  std::string LastFailure() const;

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  Status last_write_ WEIR_GUARDED_BY(mutex_);
  Status failure_ WEIR_GUARDED_BY(mutex_);  // the status of the newest write that failed; ok if none has failed
  TimePoint last_failure_ WEIR_GUARDED_BY(mutex_) = {};  // the time at which it failed
};

}  // namespace weir
