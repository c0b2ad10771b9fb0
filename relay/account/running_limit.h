// RunningLimit: limits how many jobs of a kind run at once, and lets a caller wait until none runs.
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>

#include "config/mutex.h"

namespace weir {

class RunningLimit {
 public:
  explicit RunningLimit(uint64_t most) : most_(most) {}

  // The permission for one job, which must hold the Slot while it runs. The destructor releases the permission. The
  // RunningLimit must outlive the Slot.
  class Slot {
   public:
    explicit Slot(RunningLimit& limit) : limit_(limit) {}
    ~Slot() { limit_.GiveBack(); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    RunningLimit& limit_;
  };

  // Returns a Slot, or null if most() jobs are running.
  std::unique_ptr<Slot> Take();
  uint64_t most() const { return most_; }
  uint64_t running() const;
  // Blocks until no job is running. Other threads may call Take meanwhile.
  void WaitForNone();

 private:
  void GiveBack();

  const uint64_t most_;
  mutable Mutex mutex_;
  Condition none_;
  uint64_t running_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
