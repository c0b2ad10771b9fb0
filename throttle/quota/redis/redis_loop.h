// RedisLoop: the one thread that all of a store's connections run on. It waits (epoll) for sockets, timers and tasks
// that other threads post.
//
// A turn: the sockets that are ready, the timers that are due, the tasks that were posted, and at last what asked for
// the end of the turn: there connections write all that this turn has given them in one go.
//
// Threads: Post, Call and mailbox are for any; the rest is for the loop's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "config/clock.h"

namespace weir {

class RedisLoop {
 public:
  // Whom a socket belongs to.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void OnReady(uint32_t events) = 0;  // EPOLLIN, EPOLLOUT, …; may forget itself and others
  };

  // Tasks for the loop. Outlives it where somebody still has it: what is posted then is dropped, not run.
  class Mailbox {
   public:
    bool Post(std::function<void()> task);  // false: dropped

   private:
    friend class RedisLoop;
    std::mutex mutex_;
    std::vector<std::function<void()>> tasks_;
    int wake_ = -1;  // eventfd; -1 when the loop is gone
    bool asleep_ = false;
  };

  // A moment to be called at; forgotten when the object goes. Loop thread only.
  class Timer {
   public:
    explicit Timer(RedisLoop& loop) : loop_(loop) {}
    ~Timer() { Cancel(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    void At(TimePoint when, std::function<void()> task);  // instead of what it waited for until now
    void After(Duration pause, std::function<void()> task) { At(loop_.Now() + pause, std::move(task)); }
    void Cancel();
    bool armed() const { return armed_; }

   private:
    friend class RedisLoop;
    RedisLoop& loop_;
    std::multimap<TimePoint, Timer*>::iterator place_;
    std::function<void()> task_;
    bool armed_ = false;
  };

  RedisLoop();
  // Runs what was posted before, then ends. Watchers and timers must be gone by then (posted to go).
  ~RedisLoop();
  RedisLoop(const RedisLoop&) = delete;
  RedisLoop& operator=(const RedisLoop&) = delete;

  void Post(std::function<void()> task) { mailbox_->Post(std::move(task)); }
  // Runs it on the loop and waits; at once where the caller is the loop.
  void Call(const std::function<void()>& task);
  bool InLoop() const { return std::this_thread::get_id() == thread_.get_id(); }
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  void Watch(int fd, uint32_t events, Watcher* watcher);  // from now on, or with other events
  void Forget(int fd);                                    // before the socket is closed
  void AtEndOfTurn(Watcher* watcher);                     // OnReady(0), once
  void ForgetAtEndOfTurn(Watcher* watcher);
  TimePoint Now() const { return Clock::System().Now(); }

 private:
  void Run();
  void RunTurn();
  int PauseMillis();
  void RunPosted();

  int epoll_ = -1;
  int wake_ = -1;
  std::shared_ptr<Mailbox> mailbox_;
  std::map<int, Watcher*> watchers_;
  std::multimap<TimePoint, Timer*> timers_;
  std::vector<Watcher*> end_of_turn_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace weir
