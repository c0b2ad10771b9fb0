// RedisLoop: the thread that runs all connections of one store.
//
// A turn of the loop is one Asio handler (for a read, a timer, or a posted task), followed by the tasks for the end of
// the turn. At the end of the turn, each connection that is not still writing sends all calls that it got with one
// write.
//
// Threads: any thread may call Post, Call, InLoop, Now and io; only the loop's own thread may call the rest.
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
  // Runs a task once, at a given time. If the timer is destroyed before that, the task does not run.
  class Timer {
   public:
    explicit Timer(RedisLoop& loop) : timer_(*loop.io_) {}

    // Sets the task and its time. Replaces an earlier task that has not run yet.
    void At(TimePoint when, std::function<void()> task);
    void After(Duration pause, std::function<void()> task) { At(Clock::System().Now() + pause, std::move(task)); }
    void Cancel();
    bool armed() const { return task_ != nullptr; }     // true if a task is set and has not run yet
    TimePoint when() const { return timer_.expiry(); }  // REQUIRES: armed() is true

   private:
    boost::asio::steady_timer timer_;
    std::shared_ptr<std::function<void()>> task_;
  };

  // Starts the thread.
  RedisLoop();
  // Runs the tasks that were posted before, and ends the thread. Connections and timers must be destroyed before the
  // thread ends; one of these tasks may do that. Must not run on the loop's thread.
  ~RedisLoop();
  RedisLoop(const RedisLoop&) = delete;
  RedisLoop& operator=(const RedisLoop&) = delete;

  // Runs `task` later, on the loop's thread.
  template <typename Task>
  void Post(Task task) {
    boost::asio::post(*io_, std::move(task));
  }
  // Runs `task` on the loop's thread and waits until it has returned. On the loop's thread itself, runs it at once.
  void Call(const std::function<void()>& task);
  // Runs `task` at the end of the current turn. Such a task may add another one to the same turn.
  void AtEndOfTurn(std::function<void()> task) { end_of_turn_.push_back(std::move(task)); }
  // Releases `what` at the end of the current turn. So a function of an object can arrange that the object is destroyed
  // after the function has returned.
  void DropAtEndOfTurn(std::shared_ptr<void> what) {
    AtEndOfTurn([what = std::move(what)] {});
  }
  bool InLoop() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Returns Asio's context. It may outlive the loop; tasks that are posted after the loop's end are dropped, not run.
  const std::shared_ptr<boost::asio::io_context>& io() const { return io_; }
  TimePoint Now() const { return Clock::System().Now(); }

 private:
  void Run();

  const std::shared_ptr<boost::asio::io_context> io_;
  std::vector<std::function<void()>> end_of_turn_;
  std::thread thread_;
};

}  // namespace weir
