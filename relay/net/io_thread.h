// IoThread: one thread that serves connections. It runs an Asio context, owns the sessions of its connections
// (session.h), and has a queue of the sessions that wait for a turn (Session::OnTurn). A timer makes every session
// check, at least once a second, whether its client is silent or late.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "relay/account/turns.h"
#include "relay/net/buffer_pool.h"
#include "relay/net/server_core.h"

namespace weir {

class Session;

class IoThread {
 public:
  // `index` is the thread's number in the server, from 0. `core` must outlive the thread.
  IoThread(ServerCore& core, size_t index);
  // REQUIRES: Start was never called, or StopAndJoin has returned.
  ~IoThread();

  // Starts the thread.
  void Start();
  // EndAll, StopAndJoin and Shutdown must be called on another thread.

  // Posts a task that ends all sessions at once (Session::End).
  void EndAll();
  // Stops the thread and waits for its end. Call EndAll before, and wait until load() is 0; otherwise handlers may get
  // no OnEnd.
  void StopAndJoin();
  // Posts a task that calls Session::OnShutdown of all sessions.
  void Shutdown();

  // Posts a task to this thread. The task makes a session for the connection. If that fails, for example because memory
  // runs out, the socket is closed. May be called from any thread.
  void Adopt(Accepted accepted);

  // Sets a function that is called on this thread at least once a second. Must be called before Start.
  void AtEachTick(std::function<void()> check) { at_each_tick_ = std::move(check); }

  // Returns the number of sessions, plus the connections for which Adopt has not made a session yet. May be called from
  // any thread.
  size_t load() const { return load_.load(std::memory_order_relaxed); }
  // Returns the number of sessions that have sent all output and only wait for the client to close. May be called from
  // any thread.
  size_t lingering() const { return lingering_.load(std::memory_order_relaxed); }

  // The functions below must be called on this I/O thread, except core(), index() and context().get_executor(), which
  // any thread may call. Any thread may also read counters().
  boost::asio::io_context& context() { return context_; }
  ServerCore& core() { return core_; }
  size_t index() const { return index_; }
  ThreadCounters& counters() { return counters_; }
  BufferPool& buffers() { return buffers_; }
  SteadyTime Now() const { return std::chrono::steady_clock::now(); }

  // Queues a session for a turn, in which this thread calls Session::OnTurn. The session must not be in the queue
  // already. `expected` is the work that the turn will probably cost. If memory runs out, throws, and the session is
  // not in the queue.
  void TurnSoon(std::shared_ptr<Session> session, Work expected);
  // Adds one to lingering(). Remove subtracts one when it is called for a lingering session.
  void BeginLinger();
  // Drops the thread's reference to a session that has ended.
  void Remove(Session& session);
  // Logs an exception that a handler has thrown.
  void LogFault(const std::string& where, std::string_view what);

 private:
  // A session that waits for its turn.
  struct Due {
    std::shared_ptr<Session> session;
    Party party;
    Work expected;
  };

  void Run();
  template <typename Do>
  void OrOneLess(Do take);
  std::shared_ptr<Session> Begin(Accepted accepted);
  void RunTurnsSoon();
  void RunTurns();
  void Tick();
  void NotifyEnd();

  ServerCore& core_;
  const size_t index_;
  ThreadCounters counters_;
  BufferPool buffers_;  // outlives context_, whose operations own sessions
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  const std::chrono::milliseconds beat_;  // the interval of Tick
  std::function<void()> at_each_tick_;
  std::atomic<size_t> load_{0};
  std::atomic<size_t> lingering_{0};
  std::vector<std::shared_ptr<Session>> sessions_;
  GroupTurns<Due> line_;     // the queue of sessions that wait for a turn
  bool runs_turns_ = false;  // true while RunTurns is posted or runs
  bool ticks_ = false;       // true while the timer of the next Tick runs
  std::thread thread_;
};

}  // namespace weir
