// StopSignals takes the program's signals on a thread of its own. The first SIGINT or SIGTERM asks the program to stop,
// a later one to stop at once. SIGHUP means that the terminal was closed, or that an operator wants settings to be read
// again. SIGUSR1 asks for the state of the program. SIGHUP and SIGUSR1 do not end the program: they call the functions
// that BeginOrderly was given, or are only logged.
#pragma once

#include <signal.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace weir {

// Make the object before any other thread is started: threads that are started later inherit its signal mask, and so
// leave these signals to it. Only one object may exist at a time.
class StopSignals {
 public:
  // Blocks the signals; signals that come wait for Listen. Ignores SIGPIPE.
  StopSignals();
  // Waits until a running `tell` has ended, ends the threads, and unblocks the signals in the caller's thread.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Starts a thread that takes the signals that have come and that will come. Call it once, after SetUpLogging
  // (logging.h), because the thread logs.
  void Listen();
  // Sets the functions for later signals, and replaces earlier functions. Until the first call, a SIGINT or SIGTERM
  // ends the program at once, because there is nothing yet to finish in order. `again` must not be empty; it is called
  // for the second SIGINT or SIGTERM and every later one. `hang_up`, if given, is called for each SIGHUP, and `tell`,
  // if given, for SIGUSR1; any number of SIGUSR1 that come while `tell` runs cause one more call.
  //
  // The functions are called on other threads, never within a signal handler, and never once BeginOrderly has replaced
  // them. They must not call this object. `tell` runs on a thread of its own, because it may wait for something that
  // never comes in a hanging program; signals are taken meanwhile. BeginOrderly waits until a running `tell` has ended,
  // because the caller may then destroy objects that `tell` uses. During that wait a second SIGINT or SIGTERM ends the
  // program at once.
  void BeginOrderly(std::function<void()> again, std::function<void()> hang_up = nullptr,
                    std::function<void()> tell = nullptr);
  // Waits for the first SIGINT or SIGTERM and returns its name, at once if the signal has come already. Returns null if
  // Release is called first.
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> again_;    // empty until BeginOrderly
  std::function<void()> hang_up_;  // may be empty, and so may tell_
  std::function<void()> tell_;
  int first_ = 0;  // the first SIGINT or SIGTERM; 0: none has come
  bool released_ = false;
  bool telling_ = false;         // tell_ runs
  bool waits_for_page_ = false;  // BeginOrderly waits for the end of a running tell_
  bool tell_again_ = false;      // SIGUSR1 came while tell_ ran
  std::thread teller_;           // runs tell_
  std::atomic<bool> ending_{false};
  std::thread thread_;  // takes the signals
};

}  // namespace weir
