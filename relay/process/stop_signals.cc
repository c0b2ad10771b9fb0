#include "relay/process/stop_signals.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <system_error>
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
  if (teller_.joinable()) teller_.join();
  pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
}

void StopSignals::BeginOrderly(std::function<void()> again, std::function<void()> hang_up, std::function<void()> tell) {
  MutexLock lock(mutex_);
  tell_ = nullptr;
  tell_again_ = false;
  waits_for_page_ = telling_;
  changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return !telling_; });
  waits_for_page_ = false;
  again_ = std::move(again);
  hang_up_ = std::move(hang_up);
  tell_ = std::move(tell);
}

const char* StopSignals::Wait() {
  MutexLock lock(mutex_);
  changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return first_ != 0 || released_; });
  return first_ != 0 ? NameOf(first_) : nullptr;
}

void StopSignals::Release() {
  const MutexLock lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

void StopSignals::Run() {
  for (int signal = 0; sigwait(&set_, &signal) == 0 && !ending_;) {
    if (signal == SIGHUP) {
      HangUp();
    } else if (signal == SIGUSR1) {
      Tell();
    } else {
      Take(signal);
    }
  }
}

void StopSignals::HangUp() {
  const MutexLock lock(mutex_);
  if (hang_up_) return hang_up_();
  spdlog::info("SIGHUP: settings are read at start; restart to change them");
}

void StopSignals::Tell() {
  const MutexLock lock(mutex_);
  if (!tell_) return spdlog::info("SIGUSR1: the program is starting or stopping, so there is no state to report");
  tell_again_ = telling_;
  if (telling_) return;
  if (teller_.joinable()) teller_.join();
  try {
    teller_ = std::thread([this, tell = tell_] {
      MutexLock told(mutex_);
      do {
        tell_again_ = false;
        told.unlock();
        tell();
        told.lock();
      } while (tell_again_);
      telling_ = false;
      changed_.notify_all();
    });
    telling_ = true;
  } catch (const std::system_error& e) {
    spdlog::error("SIGUSR1: no thread could be made to write the state: {}", e.what());
  }
}

void StopSignals::EndAtOnce(int signal, std::string_view why) {
  spdlog::warn("{}: ended at once, because {}", NameOf(signal), why);
  StopLogging();
  _exit(128 + signal);
}

void StopSignals::Take(int signal) {
  const MutexLock lock(mutex_);
  if (!again_) EndAtOnce(signal, "the program is still starting");
  if (first_ == 0) {
    first_ = signal;
    changed_.notify_all();
    return;
  }
  if (waits_for_page_) EndAtOnce(signal, "the page for SIGUSR1 is not finished");
  // Called under the lock, so that this function has returned before BeginOrderly replaces it.
  again_();
}

}  // namespace weir
