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
  ~IoThread();  // joined before

  void Start();
  // When the last session is gone, or the rest is ended first. From another thread.
  void EndAll();
  void StopAndJoin();
  // Asks every session to finish. From another thread.
  void Shutdown();

  // Any thread.
  void Adopt(Accepted accepted);

  // Sessions, those on their way included. Any thread.
  size_t load() const { return load_.load(std::memory_order_relaxed); }
  // Sessions of which nothing is left but to see the peer close. Any thread.
  size_t lingering() const { return lingering_.load(std::memory_order_relaxed); }

  // The rest on this thread.
  boost::asio::io_context& context() { return context_; }
  ServerCore& core() { return core_; }
  size_t index() const { return index_; }
  ThreadCounters& counters() { return counters_; }
  BufferPool& buffers() { return buffers_; }
  SteadyTime Now() const { return std::chrono::steady_clock::now(); }

  // One that is not in the line, and what its turn will probably cost.
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
  bool runs_turns_ = false;  // posted, or at it
  std::thread thread_;
};

}  // namespace weir
