// IoThread: one thread that serves connections. Has an Asio context, the sessions that live on it (session.h), the
// queue in which they wait for their turns, and a timer that checks them, at least once a second, for silent or late
// clients.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "relay/account/turns.h"
#include "relay/server/buffer_pool.h"
#include "relay/server/server_core.h"

namespace weir {

class Session;

class IoThread {
 public:
  // `index` is the thread's number in the server, from 0. `core` must outlive the thread.
  IoThread(ServerCore& core, size_t index);
  // If the thread was started, StopAndJoin must be called before.
  ~IoThread();

  // Starts the thread.
  void Start();
  // The next three functions must be called on another thread. EndAll ends the sessions at once, and Shutdown asks
  // every session to finish; both return before that is done. StopAndJoin ends the thread and waits for its end; it
  // must be called when all sessions have ended.
  void EndAll();
  void StopAndJoin();
  void Shutdown();

  // Makes a session for a connection, later, on this thread. If that fails, for example because memory runs out, closes
  // the socket. May be called from any thread.
  void Adopt(Accepted accepted);

  // Returns the number of sessions, including those that Adopt has yet to make. May be called from any thread.
  size_t load() const { return load_.load(std::memory_order_relaxed); }
  // Returns the number of sessions that have sent all output and only wait for the client to close. May be called from
  // any thread.
  size_t lingering() const { return lingering_.load(std::memory_order_relaxed); }

  // The functions below must be called on this thread. Any thread may call core, index and context().get_executor(),
  // and may read the counters.
  boost::asio::io_context& context() { return context_; }
  ServerCore& core() { return core_; }
  size_t index() const { return index_; }
  ThreadCounters& counters() { return counters_; }
  BufferPool& buffers() { return buffers_; }
  SteadyTime Now() const { return std::chrono::steady_clock::now(); }

  // Queues a session for a turn: Session::OnTurn is called later. The session must not be in the queue already.
  // `expected` is the work that the turn will probably cost.
  void TurnSoon(std::shared_ptr<Session> session, Work expected);
  // Counts a session as lingering, until Remove is called for that session.
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
  void RunTurns();
  void Tick();
  void NotifyEnd();

  ServerCore& core_;
  const size_t index_;
  ThreadCounters counters_;
  BufferPool buffers_;  // outlives the context, whose operations own sessions
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  const std::chrono::milliseconds beat_;  // the interval of Tick
  std::atomic<size_t> load_{0};
  std::atomic<size_t> lingering_{0};
  std::vector<std::shared_ptr<Session>> sessions_;
  GroupTurns<Due> line_;     // the sessions that wait for their turns
  bool runs_turns_ = false;  // true while RunTurns is posted or runs
  std::thread thread_;
};

}  // namespace weir
