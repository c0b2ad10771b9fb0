// Counts the calls whose answers are still to come, so that their owner can wait for them before it destroys what they
// use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace weir {

// Threads: any. Call AwaitEnd when no more calls begin.
class CallsUnderWay {
 public:
  // A call lasts as long as the returned object.
  std::shared_ptr<void> Begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
    return {this, [](CallsUnderWay* calls) { calls->End(); }};
  }

  void AwaitEnd() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  // Holds the lock to the end: the thread that waits may destroy this as soon as it gets the lock.
  void End() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t count_ = 0;
};

}  // namespace weir
