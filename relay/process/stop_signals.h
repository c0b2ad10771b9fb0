// StopSignals: handles the program's signals on a thread of its own.
//
//   SIGINT, SIGTERM  the first one asks the program to finish and stop; each later one asks it to stop at once
//   SIGHUP           asks the program to read its settings again; the system also sends it when the terminal is closed
//   SIGUSR1          asks the program to report its state
//
// SIGHUP and SIGUSR1 never end the program: StopSignals calls the function that BeginOrderly has set for the signal. If
// there is none, it logs a line.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>

#include "config/mutex.h"

namespace weir {

// REQUIRES: the object is made before any other thread starts, because threads inherit the signal mask that the
// constructor sets. The system then delivers these signals only to the thread of this object. At most one object may
// exist at a time.
class StopSignals {
 public:
  // Blocks the signals, so that a signal that arrives stays pending until Listen. Makes the process ignore SIGPIPE.
  StopSignals();
  // Waits until a running `tell` (see BeginOrderly) has returned, ends the threads, and unblocks the signals in the
  // calling thread.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Starts the thread that handles pending and later signals. Must be called at most once, and after SetUpLogging
  // (logging.h), because the thread logs.
  void Listen();
  // Sets the functions for later signals, in place of those that an earlier call has set. Before the first call, SIGINT
  // and SIGTERM end the program at once, because there is no work yet that has to be finished.
  //
  //   again    called for each SIGINT or SIGTERM after the first; must not be empty
  //   hang_up  called for each SIGHUP; may be empty
  //   tell     called for SIGUSR1; may be empty. All SIGUSR1 that arrive while it runs cause one more call together
  //
  // The functions run on other threads, never in a signal handler. They must not call this object. Once BeginOrderly
  // has returned, no function that it replaced is running or will be called.
  //
  // `tell` runs on a thread of its own, because it may block forever if the program hangs; other signals are handled
  // meanwhile. BeginOrderly waits until a running `tell` has returned, because the caller may then destroy objects that
  // `tell` uses. During this wait a SIGINT or SIGTERM that is not the first ends the program at once.
  void BeginOrderly(std::function<void()> again, std::function<void()> hang_up = nullptr,
                    std::function<void()> tell = nullptr);
  // Blocks until the first SIGINT or SIGTERM has arrived, and returns its name. Returns null if Release was called and
  // no such signal has arrived.
  const char* Wait();
  // Makes Wait return, for a program that stops without a signal. May be called from any thread.
  void Release();

 private:
  void Run();
  void Take(int signal);
  [[noreturn]] static void EndAtOnce(int signal, std::string_view why);
  void HangUp();
  void Tell();

  sigset_t set_;
  Mutex mutex_;
  Condition changed_;
  std::function<void()> again_ WEIR_GUARDED_BY(mutex_);    // empty until BeginOrderly
  std::function<void()> hang_up_ WEIR_GUARDED_BY(mutex_);  // may be empty, and so may tell_
  std::function<void()> tell_ WEIR_GUARDED_BY(mutex_);
  int first_ WEIR_GUARDED_BY(mutex_) = 0;  // the first SIGINT or SIGTERM; 0: none has arrived
  bool released_ WEIR_GUARDED_BY(mutex_) = false;
  bool telling_ WEIR_GUARDED_BY(mutex_) = false;         // tell_ runs
  bool waits_for_page_ WEIR_GUARDED_BY(mutex_) = false;  // BeginOrderly waits for the end of a running tell_
  bool tell_again_ WEIR_GUARDED_BY(mutex_) = false;      // SIGUSR1 came while tell_ ran
  std::thread teller_;                                   // runs tell_
  std::atomic<bool> ending_{false};
  std::thread thread_;  // takes the signals
};

}  // namespace weir
