// SIGINT and SIGTERM ask the program to stop, a second one to stop at once. SIGHUP means that a terminal went away, or
// an operator who expects settings to be read again, and SIGUSR1 that somebody wants to know how the program is; both
// end nothing: they do what BeginOrderly was told, or are logged.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace weir {

// Make it before any other thread: those that are started after it leave these signals to it. One at a time.
class StopSignals {
 public:
  StopSignals();  // from here on they wait
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Takes those that have come, and what comes; once, when the log is set up: the thread writes to it.
  void Listen();
  // Until this is called, the first signal ends the program at once: there is nothing yet to be finished in order.
  // `again` is called on another thread (never within a handler) for the second signal and every later one, `hang_up`
  // for each SIGHUP, `tell` for each SIGUSR1; never once they have been replaced. They must not call anything here.
  // `tell` has a thread of its own, for it may wait for what a program that hangs will never give: signals are heard
  // meanwhile. This returns when it has ended, whose objects are about to go; a signal behind the first then ends the
  // program at once.
  void BeginOrderly(std::function<void()> again, std::function<void()> hang_up = nullptr,
                    std::function<void()> tell = nullptr);
  // Returns when the first has come: its name. Null after Release: whoever waits is needed no longer.
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
  std::function<void()> hang_up_;  // may be empty, as the next
  std::function<void()> tell_;
  int first_ = 0;
  bool released_ = false;
  bool telling_ = false;
  bool waits_for_page_ = false;
  bool tell_again_ = false;  // asked for while it was told
  std::thread teller_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace weir
