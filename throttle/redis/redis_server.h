// RedisServer: a Redis server, at one address or at the first of several addresses that answers. It outlives its
// connections (RedisConnection): it connects again, loads the scripts that the server has lost, and has a breaker
// (redis_breaker.h).
//
// While it connects for the first time, calls wait, up to their deadlines. Calls also wait while it connects again
// after the loss of a connection that had lasted for at least `retry_first`; calls that were on the lost connection are
// answered with the problem. The breaker opens if connecting fails at all addresses, if a connection is lost sooner,
// and after `breaker_failures` failed calls in a row. Then calls are answered at once with the problem, and the server
// is tried again after the breaker's pauses: by connecting or, if there is a connection, by the probe. The breaker also
// opens at once if the server refuses writes (OOM, MISCONF, NOREPLICAS, READONLY): such a server may answer questions,
// but cannot store decisions.
//
// A connection that was given up after a silence is kept for its late replies (redis_connection.h); only the last
// kMostLingering of these are kept.
//
// Threads: only the loop's thread (redis_loop.h) may use and destroy it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "throttle/redis/redis_breaker.h"
#include "throttle/redis/redis_connection.h"

namespace weir {

struct RedisServerOptions {
  RedisConnectionOptions connection;
  Duration timeout = std::chrono::milliseconds(500);  // for the answer to a probe
  // The probe: a command that FormatRedisCommand made. Every answer but an error counts as good. So does NOSCRIPT,
  // which says that the server has lost the probe's script.
  std::string probe = FormatRedisCommand({"PING"});
  uint32_t breaker_failures = 5;                          // failed calls in a row that open the breaker
  Duration retry_first = std::chrono::milliseconds(100);  // the first pause before a probe
  Duration retry_longest = std::chrono::seconds(5);       // the longest pause
};

// The most connections that a server keeps for their late replies.
inline constexpr size_t kMostLingering = 4;

class RedisServer final : private RedisConnection::Listener, private RedisCall::Handler {
 public:
  // Gets the events of a server. A topology (redis_topology.h), which knows where the servers are, is such a listener.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Called if the server answers a call with an error which says that the call was not executed: MOVED, ASK,
    // READONLY, CLUSTERDOWN, TRYAGAIN, MASTERDOWN, LOADING, or a key on its way (IsKeyOnItsWay). A listener that
    // handles the call moves it out of `call`, and sends it elsewhere or answers it. If the listener leaves the call
    // there, it is answered with the error, which the breaker counts as a failure (except a key on its way).
    virtual void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
      (void)server, (void)call, (void)error;
    }
    virtual void OnUp(RedisServer& server) { (void)server; }  // a connection is ready, for the first time or again
    // Called if connecting failed (at all addresses), or if the breaker opened. The listener must not destroy the
    // server here, but later (RedisLoop::DropAtEndOfTurn).
    virtual void OnDown(RedisServer& server, const std::string& problem) { (void)server, (void)problem; }
  };

  // Begins to connect. `loop`, `options` and `listener`, which may be null, must outlive the server.
  RedisServer(RedisLoop& loop, std::vector<RedisAddress> addresses, const RedisServerOptions& options,
              Listener* listener);
  ~RedisServer() override;  // answers waiting calls with a problem

  // Sends the call to this server, whatever its slot. Answers it at once with the problem while the breaker is not
  // closed or there is no connection. Sets RedisCall::handler to this server.
  void Send(RedisCallPtr call);

  // The address to which it is connected, or which it tries.
  const RedisAddress& address() const { return addresses_[at_]; }
  RedisBreaker::State breaker() const { return breaker_.state(); }
  bool connected() const { return connection_ != nullptr && connection_->ready(); }
  const std::string& problem() const { return problem_; }  // the last failure; empty while all is well
  const std::string& warning() const { return warning_; }  // RedisConnection::warning; empty: none
  // Returns how many connections became ready after the first one, or after a failed attempt: before each of them the
  // server may have lost its data.
  uint64_t reconnects() const { return reconnects_; }
  // RedisConnection::writes of all its connections; for tests and benchmarks.
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
  size_t at_ = 0;                       // index of the address in use
  std::vector<size_t> host_addresses_;  // for each of addresses_, the index of the host's IP address to begin with
  size_t tried_ = 0;                    // addresses that failed since a connection was ready, or since the last pause
  std::unique_ptr<RedisConnection> connection_;
  // The oldest first. Those that have ended are removed when another is added.
  std::deque<std::unique_ptr<RedisConnection>> lingering_;
  std::optional<TimePoint> ready_since_;  // when this connection became ready; empty: it is not
  bool connects_again_ = false;           // whether the next connection counts as a reconnect
  bool scripts_on_the_way_ = false;
  bool closing_ = false;
  std::vector<RedisCallPtr> for_next_address_;  // calls that wait while the next address is tried
  std::string problem_;
  std::string warning_;
  uint64_t reconnects_ = 0;
  uint64_t writes_ = 0;  // by earlier connections
  RedisLoop::Timer probe_timer_;
};

}  // namespace weir
