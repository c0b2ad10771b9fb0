// Ticker: a thread that calls a function again and again, each time at the time that the function returned last, or
// sooner if Wake is called.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "config/clock.h"

namespace weir {

class Ticker {
 public:
  // `tick` returns when it wants to be called again. It is called after an hour at the latest.
  explicit Ticker(std::function<TimePoint()> tick) : tick_(std::move(tick)) {}
  ~Ticker() { Stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Starts the thread, which calls the function at once. May be called only once.
  void Start();
  // Makes the thread call the function now. May be called from any thread.
  void Wake();
  // Ends the thread; waits for a call of the function that is running. The function itself must not call Stop.
  void Stop();

 private:
  void Run();

  const std::function<TimePoint()> tick_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace weir
