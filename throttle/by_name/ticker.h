// Ticker: a thread that calls a function when the function itself has said, or when it is woken.
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
  // tick: when it wants to be called again; TimePoint::max(): only when woken.
  explicit Ticker(std::function<TimePoint()> tick) : tick_(std::move(tick)) {}
  ~Ticker() { Stop(); }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  void Start();
  // Any thread.
  void Wake();
  // The function is not called any more.
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
