// CallsUnderWay: counts calls that have begun and are not answered yet, so that their owner can wait for them before it
// destroys the objects that they use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace weir {

// Threads: any.
class CallsUnderWay {
 public:
  // Begins a call, which lasts until the last copy of the returned pointer is gone. That must be before this object is
  // destroyed.
  std::shared_ptr<void> Begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
    return {this, [](CallsUnderWay* calls) { calls->End(); }};
  }

  // Waits until all calls have ended. No call may begin meanwhile or later.
  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  // Holds the lock to the end, because the thread in AwaitEnd may destroy this object as soon as it gets the lock.
  void End() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t count_ = 0;
};

}  // namespace weir
