// SIGINT and SIGTERM ask the program to stop, a second one to stop at once. SIGHUP means that a terminal went away, or
// that an operator wants settings to be read again. SIGUSR1 asks for the state of the program. SIGHUP and SIGUSR1 end
// nothing: they do what BeginOrderly was given, or are logged.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace weir {

// Make it before any other thread: threads that are started after it leave these signals to it. Only one may exist at a
// time.
class StopSignals {
 public:
  StopSignals();  // from here on the signals wait
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Starts a thread that takes the signals that have come and those that come. Call it once, after the log is set up:
  // the thread writes to it.
  void Listen();
  // Until this is called, the first signal ends the program at once: there is nothing yet to be finished in order.
  // `again` is called for the second signal and every later one, `hang_up` for each SIGHUP, `tell` for each SIGUSR1.
  // All are called on another thread, never within a signal handler, and never once they have been replaced. They must
  // not call anything here. `tell` has a thread of its own, because it may wait for something that a program that hangs
  // will never give; signals are taken meanwhile. BeginOrderly returns only when a `tell` that runs has ended, because
  // its objects are about to go; during that wait a signal after the first ends the program at once.
  void BeginOrderly(std::function<void()> again, std::function<void()> hang_up = nullptr,
                    std::function<void()> tell = nullptr);
  // Waits for the first signal and returns its name. Returns null after Release, when no caller needs the signal any
  // more.
  const char* Wait();
  void Release();

 private:
  void Run();
  void Take(int signal);
  [[noreturn]] static void EndAtOnce(int signal, std::string_view why);
  void HangUp();
  void Tell();

  sigset_t set_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> again_;    // empty: before BeginOrderly
  std::function<void()> hang_up_;  // may be empty, and so may tell_
  std::function<void()> tell_;
  int first_ = 0;
  bool released_ = false;
  bool telling_ = false;
  bool waits_for_page_ = false;
  bool tell_again_ = false;  // SIGUSR1 came while tell_ ran
  std::thread teller_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace weir
