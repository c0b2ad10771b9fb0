#include "relay/account/running_limit.h"

namespace weir {

std::unique_ptr<RunningLimit::Slot> RunningLimit::Take() {
  const MutexLock lock(mutex_);
  if (running_ >= most_) return nullptr;
  auto slot = std::make_unique<Slot>(*this);
  ++running_;
  return slot;
}

uint64_t RunningLimit::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

void RunningLimit::WaitForNone() {
  MutexLock lock(mutex_);
  none_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return running_ == 0; });
}

// Notifies while mutex_ is locked, because the caller of WaitForNone may destroy this object when it gets the lock.
void RunningLimit::GiveBack() {
  const MutexLock lock(mutex_);
  --running_;
  none_.notify_all();
}

}  // namespace weir
