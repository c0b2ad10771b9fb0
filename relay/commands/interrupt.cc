#include "relay/commands/interrupt.h"

#include <unistd.h>

namespace weir {

Interrupt::Interrupt(LogFormat log_format, LogLevel log_level) {
  SetUpLogging(log_level, log_format);
  signals_.Listen();
  signals_.BeginOrderly([] { _exit(1); });
  waiter_ = std::thread([this] {
    if (signals_.Wait() == nullptr) return;
    stop_.request_stop();
    const MutexLock lock(mutex_);
    changed_.notify_all();
  });
}

Interrupt::~Interrupt() {
  signals_.Release();
  waiter_.join();
}

bool Interrupt::CameWithin(Duration time) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return stop_.stop_requested(); });
}

}  // namespace weir
