// RedisServer: a Redis server. It may have several addresses, which are tried in order until one answers. A RedisServer
// outlives its connections (RedisConnection): it connects again, loads scripts that the server has lost, and has a
// circuit breaker (redis_breaker.h).
//
// While the RedisServer connects for the first time, calls wait, at most until their deadlines. If a connection that
// has lasted for at least `retry_first` is lost while the breaker is closed, the RedisServer connects again at once,
// and calls wait meanwhile. Calls of the lost connection end with the problem.
//
// A call fails if it gets no reply, or if it gets an error other than ERR and WRONGTYPE, which concern only the call.
// The breaker opens if connecting fails at all addresses, if a connection is lost within `retry_first`, and after
// `breaker_failures` failed calls in a row. It opens at once if the server refuses writes (OOM, MISCONF, NOREPLICAS,
// READONLY), because such a server can store no decision of a limiter, even if it still executes reads. An error for
// which the listener takes the call over (OnRefused) is no failure. While the breaker is open, calls end at once with
// the problem. After each pause of the breaker the RedisServer tries the server again: by connecting or, if there is a
// connection, by sending the probe.
//
// A connection that has ended after a silence may linger for its late replies (redis_connection.h). The RedisServer
// keeps at most kMostLingering ended connections; it destroys the oldest first.
//
// Threads: only the loop's thread (redis_loop.h) may use and destroy a RedisServer.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/wire/redis/redis_breaker.h"
#include "config/wire/redis/redis_connection.h"

namespace weir {

struct RedisServerOptions {
  RedisConnectionOptions connection;
  Duration timeout = std::chrono::milliseconds(500);  // for the reply to a probe, and to ASKING and script loads
  // The probe: a command, made by FormatRedisCommand. Every reply that is not an error means that the server works. So
  // does the error NOSCRIPT, which means that the server has lost the probe's script.
  std::string probe = FormatRedisCommand({"PING"});
  uint32_t breaker_failures = 5;                          // failed calls in a row that open the breaker
  Duration retry_first = std::chrono::milliseconds(100);  // the first pause before a probe
  Duration retry_longest = std::chrono::seconds(5);       // the longest pause before a probe
};

// The maximum number of ended connections that a RedisServer keeps for their late replies.
inline constexpr size_t kMostLingering = 4;

class RedisServer final : private RedisConnection::Listener, private RedisCall::Handler {
 public:
  // Receives the events of a server. A topology (redis_topology.h), which knows all servers, is such a listener.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Called if the server answers a call with an error which says that the call was not executed: MOVED, ASK,
    // READONLY, CLUSTERDOWN, TRYAGAIN, MASTERDOWN, LOADING, or a key on its way (IsKeyOnItsWay). To handle the call,
    // the listener moves it out of `call`, and then sends it, at once or later, or ends it. If it leaves the call in
    // `call`, the call ends with the error. The breaker counts that as a failure, except for a key on its way; READONLY
    // opens it at once.
    virtual void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
      (void)server, (void)call, (void)error;
    }
    virtual void OnUp(RedisServer& server) { (void)server; }  // a connection is ready, for the first time or again
    // Called if connecting has failed at all addresses, or if the breaker has opened. OnDown must not destroy the
    // server at once, but may let the loop do it later (RedisLoop::DropAtEndOfTurn).
    virtual void OnDown(RedisServer& server, const std::string& problem) { (void)server, (void)problem; }
  };

  // Begins to connect. `loop`, `options` and `listener` must outlive the server; `listener` may be null.
  RedisServer(RedisLoop& loop, std::vector<RedisAddress> addresses, const RedisServerOptions& options,
              Listener* listener);
  ~RedisServer() override;  // ends waiting calls with a problem

  // Sends the call to this server, without looking at its slot. If the breaker is not closed, the call ends at once
  // with the problem. Sets RedisCall::handler to this server.
  void Send(RedisCallPtr call);

  // Returns the address to which this server is connected, or which it tries now or next.
  const RedisAddress& address() const { return addresses_[at_]; }
  RedisBreaker::State breaker() const { return breaker_.state(); }
  bool connected() const { return connection_ != nullptr && connection_->ready(); }
  const std::string& problem() const { return problem_; }  // the last failure; empty while the server works
  const std::string& warning() const { return warning_; }  // RedisConnection::warning; empty: none
  // Returns how many connections became ready, without the first one unless an attempt to connect had failed before it.
  // Before each of these connections the server may have lost its data.
  uint64_t reconnects() const { return reconnects_; }
  // Returns the sum of RedisConnection::writes over all connections; for tests and benchmarks.
  uint64_t writes() const { return writes_ + (connection_ ? connection_->writes() : 0); }

 private:
  void OnReady(RedisConnection& connection) override;
  void OnEnd(RedisConnection& connection, const std::string& problem) override;
  void OnOutcome(RedisCallPtr call, RedisOutcome outcome) override;
  void Connect();
  void SendNow(RedisCallPtr call);
  void SendWithScripts(RedisCallPtr call);
  void SendOwn(const std::string& command, std::function<void(RedisOutcome)> done);
  bool TriesAnotherAddress() const;
  void OnLost();
  void OnNotConnected();
  void Fail(const std::string& problem);
  void Open();
  void WaitForProbe();
  void Probe();

  RedisLoop& loop_;
  const std::vector<RedisAddress> addresses_;
  const RedisServerOptions& options_;
  Listener* listener_;
  RedisBreaker breaker_;
  size_t at_ = 0;                       // the index of the address in use
  std::vector<size_t> host_addresses_;  // for each of addresses_: the index of the host's IP address to try first
  size_t tried_ = 0;                    // how many addresses failed since a connection was ready or a pause ended
  std::unique_ptr<RedisConnection> connection_;
  // Lingering connections, the oldest first. Those that have ended are removed when another one is added.
  std::deque<std::unique_ptr<RedisConnection>> lingering_;
  std::optional<TimePoint> ready_since_;  // when the present connection became ready; nullopt: it is not ready
  bool connects_again_ = false;           // whether the next connection counts as a reconnect
  bool scripts_on_the_way_ = false;
  bool closing_ = false;
  std::vector<RedisCallPtr> for_next_address_;  // calls that wait until the next address is tried
  std::string problem_;
  std::string warning_;
  uint64_t reconnects_ = 0;
  uint64_t writes_ = 0;  // the writes of earlier connections
  RedisLoop::Timer probe_timer_;
};

}  // namespace weir
