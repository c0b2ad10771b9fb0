// One I/O thread: an Asio context, the sessions that live on it, and the beat that finds the silent ones among them.
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
  IoThread(ServerCore& core, size_t index);
  ~IoThread();  // only after StopAndJoin

  void Start();
  // EndAll ends the sessions that are left; StopAndJoin is called when they are gone. Both are called from another
  // thread.
  void EndAll();
  void StopAndJoin();
  // Asks every session to finish. Called from another thread.
  void Shutdown();

  // Called from any thread.
  void Adopt(Accepted accepted);

  // The number of sessions, with those on their way. Any thread may call it.
  size_t load() const { return load_.load(std::memory_order_relaxed); }
  // The number of sessions that only wait for the peer to close. Any thread may call it.
  size_t lingering() const { return lingering_.load(std::memory_order_relaxed); }

  // The rest is called on this thread.
  boost::asio::io_context& context() { return context_; }
  ServerCore& core() { return core_; }
  size_t index() const { return index_; }
  ThreadCounters& counters() { return counters_; }
  BufferPool& buffers() { return buffers_; }
  SteadyTime Now() const { return std::chrono::steady_clock::now(); }

  // Puts a session into the line, in which it must not be. `expected` is what its turn will probably cost.
  void TurnSoon(std::shared_ptr<Session> session, Work expected);
  void BeginLinger();
  void Remove(Session& session);
  void LogFault(const std::string& where, std::string_view what);

 private:
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
  BufferPool buffers_;  // outlives the context, whose operations hold sessions
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  const std::chrono::milliseconds beat_;
  std::atomic<size_t> load_{0};
  std::atomic<size_t> lingering_{0};
  std::vector<std::shared_ptr<Session>> sessions_;
  GroupTurns<Due> line_;
  bool runs_turns_ = false;  // RunTurns is posted, or runs
  std::thread thread_;
};

}  // namespace weir
