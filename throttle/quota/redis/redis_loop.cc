#include "throttle/quota/redis/redis_loop.h"

#include <pthread.h>
#include <signal.h>  // NOLINT: POSIX
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <system_error>

namespace weir {

bool RedisLoop::Mailbox::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (wake_ < 0) return false;
  tasks_.push_back(std::move(task));
  if (!asleep_) return true;
  // Once for all that is posted before it is awake.
  asleep_ = false;
  const uint64_t one = 1;
  return write(wake_, &one, sizeof one) == sizeof one;
}

void RedisLoop::Timer::At(TimePoint when, std::function<void()> task) {
  Cancel();
  task_ = std::move(task);
  place_ = loop_.timers_.emplace(when, this);
  armed_ = true;
}

void RedisLoop::Timer::Cancel() {
  if (!armed_) return;
  loop_.timers_.erase(place_);
  armed_ = false;
}

RedisLoop::RedisLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      mailbox_(std::make_shared<Mailbox>()) {
  if (epoll_ < 0 || wake_ < 0) throw std::system_error(errno, std::generic_category(), "no epoll for Redis");
  mailbox_->wake_ = wake_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { Run(); });
}

RedisLoop::~RedisLoop() {
  Post([this] { stopping_ = true; });
  thread_.join();
  {
    const std::lock_guard lock(mailbox_->mutex_);
    mailbox_->wake_ = -1;
    mailbox_->tasks_.clear();
  }
  close(wake_);
  close(epoll_);
}

void RedisLoop::Call(const std::function<void()>& task) {
  if (InLoop()) return task();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Post([&] {
    task();
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

void RedisLoop::Watch(int fd, uint32_t events, Watcher* watcher) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const bool known = !watchers_.insert_or_assign(fd, watcher).second;
  epoll_ctl(epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
}

void RedisLoop::Forget(int fd) {
  if (watchers_.erase(fd) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void RedisLoop::AtEndOfTurn(Watcher* watcher) { end_of_turn_.push_back(watcher); }

void RedisLoop::ForgetAtEndOfTurn(Watcher* watcher) { std::ranges::replace(end_of_turn_, watcher, nullptr); }

void RedisLoop::Run() {
  // Signals are for others; OpenSSL writes without MSG_NOSIGNAL.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!stopping_) RunTurn();
}

void RedisLoop::RunTurn() {
  std::array<epoll_event, 64> ready;
  const int count = epoll_wait(epoll_, ready.data(), ready.size(), PauseMillis());
  for (int i = 0; i < count; ++i) {
    const int fd = ready[i].data.fd;
    if (fd == wake_) {
      uint64_t wakes = 0;
      (void)!read(wake_, &wakes, sizeof wakes);
    } else if (const auto at = watchers_.find(fd); at != watchers_.end()) {
      at->second->OnReady(ready[i].events);
    }
  }
  while (!timers_.empty() && timers_.begin()->first <= Now()) {
    Timer* timer = timers_.begin()->second;
    timer->Cancel();
    const std::function<void()> task = std::move(timer->task_);
    task();
  }
  RunPosted();
  // The end may ask for another end.
  for (size_t i = 0; i < end_of_turn_.size(); ++i)
    if (Watcher* watcher = end_of_turn_[i]) watcher->OnReady(0);
  end_of_turn_.clear();
}

int RedisLoop::PauseMillis() {
  static constexpr Duration kLongest = std::chrono::hours(1);
  {
    const std::lock_guard lock(mailbox_->mutex_);
    if (!mailbox_->tasks_.empty()) return 0;
    mailbox_->asleep_ = true;
  }
  if (timers_.empty()) return -1;
  const Duration pause = std::clamp(timers_.begin()->first - Now(), Duration::zero(), kLongest);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(pause).count());
}

void RedisLoop::RunPosted() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mailbox_->mutex_);
    mailbox_->asleep_ = false;
    tasks.swap(mailbox_->tasks_);
  }
  for (const std::function<void()>& task : tasks) task();
}

}  // namespace weir
