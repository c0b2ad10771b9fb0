// Interrupt: waits for the first SIGINT or SIGTERM on a thread of its own, for commands that then end in order. A
// second signal ends the program at once, with the status 1.
//
// Make it before any other thread, because it blocks the signals for all threads that begin later.
#pragma once

#include <stop_token>
#include <thread>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/process/logging.h"
#include "relay/process/stop_signals.h"

namespace weir {

class Interrupt {
 public:
  // Also sets up logging, by default of errors alone.
  explicit Interrupt(LogFormat log_format, LogLevel log_level = LogLevel::kError);
  ~Interrupt();

  // Returns true if the program shall stop, and waits at most this long for it.
  bool CameWithin(Duration time);
  // Returns a token whose stop is requested when the program shall stop.
  std::stop_token token() const { return stop_.get_token(); }

 private:
  StopSignals signals_;
  Mutex mutex_;
  Condition changed_;
  std::stop_source stop_;
  std::thread waiter_;
};

}  // namespace weir
