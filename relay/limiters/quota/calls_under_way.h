// CallsUnderWay: counts calls that have begun and have not ended, so that the owner of the objects that the calls use
// can wait for the calls before it destroys these objects.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace weir {

// Threads: any.
class CallsUnderWay {
 public:
  // Begins a call. The call ends when the last copy of the returned pointer is destroyed. REQUIRES: all calls end
  // before this object is destroyed.
  std::shared_ptr<void> Begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
    return {this, [](CallsUnderWay* calls) { calls->End(); }};
  }

  // Waits until all calls have ended. REQUIRES: no call begins during AwaitEnd or after it.
  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  // Notifies while it holds the lock, because the thread in AwaitEnd may destroy this object once it has the lock.
  void End() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t count_ = 0;
};

}  // namespace weir
