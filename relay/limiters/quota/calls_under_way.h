// Counts the calls whose answers are still to come, so that what they use can wait for them before it goes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace weir {

// Any thread; AwaitEnd when no more begin.
class CallsUnderWay {
 public:
  // A call lasts as long as what this returns.
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
  // Under the lock to the end: who waits may destroy this as soon as it has it.
  void End() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t count_ = 0;
};

}  // namespace weir
