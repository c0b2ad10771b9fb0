// Ticker: a thread that calls a function repeatedly. The function returns the time at which the thread should call it
// next; Wake makes the thread call it sooner.
#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

class Ticker {
 public:
  // `tick` returns the time of its next call. The thread calls it at the latest an hour after the previous call.
  explicit Ticker(std::function<TimePoint()> tick) : tick_(std::move(tick)) {}
  ~Ticker() { Stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Starts the thread, which calls `tick` at once. May be called only once.
  void Start();
  // Makes the thread call `tick` now. May be called from any thread.
  void Wake();
  // Ends the thread. If a call of `tick` is running, Stop waits until it returns. `tick` itself must not call Stop.
  void Stop();

 private:
  void Run();

  const std::function<TimePoint()> tick_;
  Mutex mutex_;
  Condition changed_;
  bool woken_ WEIR_GUARDED_BY(mutex_) = false;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weir
