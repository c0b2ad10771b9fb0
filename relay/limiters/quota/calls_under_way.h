// CallsUnderWay: counts calls that have begun and have not ended, so that the owner of the objects that the calls use
// can wait for the calls before it destroys these objects.
#pragma once

#include <cstdint>
#include <memory>

#include "config/mutex.h"

namespace weir {

// Threads: any.
class CallsUnderWay {
 public:
  // Begins a call. The call ends when the last copy of the returned pointer is destroyed. REQUIRES: all calls end
  // before this object is destroyed.
  std::shared_ptr<void> Begin() {
    const MutexLock lock(mutex_);
    ++count_;
    return {this, [](CallsUnderWay* calls) { calls->End(); }};
  }

  // Waits until all calls have ended. REQUIRES: no call begins during AwaitEnd or after it.
  void AwaitEnd() {
    MutexLock lock(mutex_);
    ended_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return count_ == 0; });
  }

 private:
  // Notifies while it holds the lock, because the thread in AwaitEnd may destroy this object once it has the lock.
  void End() {
    const MutexLock lock(mutex_);
    if (--count_ == 0) ended_.notify_all();
  }

  Mutex mutex_;
  Condition ended_;
  uint64_t count_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
