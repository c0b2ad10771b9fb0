#include "relay/commands/interrupt.h"

#include <unistd.h>

namespace weir {

Interrupt::Interrupt(LogFormat log_format) {
  SetUpLogging(LogLevel::kError, log_format);
  signals_.Listen();
  signals_.BeginOrderly([] { _exit(1); });
  waiter_ = std::thread([this] {
    if (signals_.Wait() == nullptr) return;
    const MutexLock lock(mutex_);
    came_ = true;
    changed_.notify_all();
  });
}

Interrupt::~Interrupt() {
  signals_.Release();
  waiter_.join();
}

bool Interrupt::CameWithin(Duration time) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, time, [this]() WEIR_REQUIRES(mutex_) { return came_; });
}

}  // namespace weir
