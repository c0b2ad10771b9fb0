// RedisLoop: the one thread that runs all of a store's connections.
//
// A turn is one handler of Asio's (a read, a timer, a posted task) and then the tasks for the end of the turn: there
// connections write in one go all that the turn has given them.
//
// Threads: Post, Call and io are for any; the rest is for the loop's own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

class RedisLoop {
 public:
  // Runs a task at a given time; forgets it when the timer is destroyed.
  class Timer {
   public:
    explicit Timer(RedisLoop& loop) : timer_(*loop.io_) {}

    void At(TimePoint when, std::function<void()> task);  // instead of its earlier task
    void After(Duration pause, std::function<void()> task) { At(Clock::System().Now() + pause, std::move(task)); }
    void Cancel();
    bool armed() const { return task_ != nullptr; }
    TimePoint when() const { return timer_.expiry(); }

   private:
    boost::asio::steady_timer timer_;
    std::shared_ptr<std::function<void()>> task_;
  };

  RedisLoop();
  // Runs what was posted before, then ends. Connections and timers must be gone by then (their destruction may be
  // posted).
  ~RedisLoop();
  RedisLoop(const RedisLoop&) = delete;
  RedisLoop& operator=(const RedisLoop&) = delete;

  template <typename Task>
  void Post(Task task) {
    boost::asio::post(*io_, std::move(task));
  }
  // Runs it on the loop and waits; at once if the caller is the loop.
  void Call(const std::function<void()>& task);
  void AtEndOfTurn(std::function<void()> task) { end_of_turn_.push_back(std::move(task)); }
  // Destroys an object that may be the caller.
  void DropAtEndOfTurn(std::shared_ptr<void> what) {
    AtEndOfTurn([what = std::move(what)] {});
  }
  bool InLoop() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Tasks that are posted to it when the loop has gone are dropped, not run.
  const std::shared_ptr<boost::asio::io_context>& io() const { return io_; }
  TimePoint Now() const { return Clock::System().Now(); }

 private:
  void Run();

  const std::shared_ptr<boost::asio::io_context> io_;
  std::vector<std::function<void()>> end_of_turn_;
  std::thread thread_;
};

}  // namespace weir
