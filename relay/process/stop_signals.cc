#include "relay/process/stop_signals.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <utility>

#include "relay/process/logging.h"

namespace weir {
namespace {

const char* NameOf(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) sigaddset(&set_, signal);
  pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void StopSignals::Listen() {
  thread_ = std::thread([this] { Run(); });
}

StopSignals::~StopSignals() {
  if (thread_.joinable()) {
    ending_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
}

void StopSignals::BeginOrderly(std::function<void()> again, std::function<void()> hang_up, std::function<void()> tell) {
  std::lock_guard lock(mutex_);
  again_ = std::move(again);
  hang_up_ = std::move(hang_up);
  tell_ = std::move(tell);
}

const char* StopSignals::Wait() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [this] { return first_ != 0 || released_; });
  return first_ != 0 ? NameOf(first_) : nullptr;
}

void StopSignals::Release() {
  std::lock_guard lock(mutex_);
  released_ = true;
  came_.notify_all();
}

void StopSignals::Run() {
  for (int signal = 0; sigwait(&set_, &signal) == 0 && !ending_;) {
    if (signal == SIGHUP) {
      Do(hang_up_, "SIGHUP: settings are read at start; restart to change them");
    } else if (signal == SIGUSR1) {
      Do(tell_, "SIGUSR1: there is nothing to tell yet, or no more");
    } else {
      Take(signal);
    }
  }
}

void StopSignals::Do(const std::function<void()>& what, const char* else_say) {
  std::lock_guard lock(mutex_);
  if (what) return what();
  spdlog::info("{}", else_say);
}

void StopSignals::Take(int signal) {
  std::lock_guard lock(mutex_);
  if (!again_) {
    spdlog::warn("{} before there was anything to stop in order", NameOf(signal));
    StopLogging();
    _exit(128 + signal);
  }
  if (first_ == 0) {
    first_ = signal;
    came_.notify_all();
    return;
  }
  // Under the lock: once BeginOrderly has returned, nobody is within what it replaced, and that may be destroyed.
  again_();
}

}  // namespace weir
