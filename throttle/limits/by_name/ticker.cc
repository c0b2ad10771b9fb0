#include "throttle/limits/by_name/ticker.h"

#include <algorithm>

namespace weir {
namespace {

// The longest wait of the thread. Some systems cannot wait until TimePoint::max().
constexpr Duration kLongestSleep = std::chrono::hours(1);

}  // namespace

void Ticker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Ticker::Wake() {
  {
    const MutexLock lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void Ticker::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Ticker::Run() {
  for (;;) {
    const TimePoint next = std::min(tick_(), Clock::System().Now() + kLongestSleep);
    MutexLock lock(mutex_);
    changed_.wait_until(lock, next, [&]() WEIR_REQUIRES(mutex_) { return woken_ || stopped_; });
    woken_ = false;
    if (stopped_) return;
  }
}

}  // namespace weir
