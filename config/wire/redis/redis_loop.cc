#include "config/wire/redis/redis_loop.h"

#include <signal.h>  // NOLINT: POSIX

#include <boost/asio/executor_work_guard.hpp>
#include <future>

namespace weir {

void RedisLoop::Timer::At(TimePoint when, std::function<void()> task) {
  task_ = std::make_shared<std::function<void()>>(std::move(task));
  timer_.expires_at(when);
  // If Cancel comes too late to stop this wait, the handler finds that its task is gone.
  timer_.async_wait([this, waiting = std::weak_ptr(task_)](const boost::system::error_code&) {
    const auto due = waiting.lock();
    if (!due) return;
    task_.reset();
    (*due)();
  });
}

void RedisLoop::Timer::Cancel() {
  if (std::exchange(task_, nullptr)) timer_.cancel();
}

RedisLoop::RedisLoop() : io_(std::make_shared<boost::asio::io_context>(1)), thread_([this] { Run(); }) {}

RedisLoop::~RedisLoop() {
  Post([this] { io_->stop(); });
  thread_.join();
}

void RedisLoop::Run() {
  // Blocks all signals in this thread, so that the program's other threads handle them.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const auto until_stopped = boost::asio::make_work_guard(*io_);
  while (io_->run_one() > 0) {
    // A task may add another task to this turn, so the vector may grow during the loop.
    for (size_t i = 0; i < end_of_turn_.size(); ++i) std::exchange(end_of_turn_[i], nullptr)();
    end_of_turn_.clear();
  }
}

void RedisLoop::Call(const std::function<void()>& task) {
  if (InLoop()) return task();
  std::promise<void> done;
  Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace weir
