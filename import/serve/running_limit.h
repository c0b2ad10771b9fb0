// RunningLimit: bounds how many of a kind run at once, and lets a caller wait until none does.
//
// Threads: any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace weir {

class RunningLimit {
 public:
  explicit RunningLimit(uint64_t most) : most_(most) {}

  // The place of one that runs. It is given back when the slot is destroyed, whatever ended it; the limit has to
  // outlive it.
  class Slot {
   public:
    explicit Slot(RunningLimit& limit) : limit_(limit) {}
    ~Slot() { limit_.GiveBack(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    RunningLimit& limit_;
  };

  // Returns null if as many as may are running already.
  std::unique_ptr<Slot> Take();
  uint64_t most() const { return most_; }
  uint64_t running() const;
  void WaitForNone();

 private:
  void GiveBack();

  const uint64_t most_;
  mutable std::mutex mutex_;
  std::condition_variable none_;
  uint64_t running_ = 0;
};

}  // namespace weir
