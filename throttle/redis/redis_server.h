// RedisServer: a server at one address (or at the first of several that answers), whatever happens to the connection:
// it connects, connects again, loads the scripts that the server has lost, and keeps the breaker.
//
// While it connects for the first time, calls wait, up to their deadlines. So do those that come while it connects
// again after it lost a connection that had stood for a while (`retry_first`); those under way then are answered with
// the problem. The breaker opens if connecting fails, if the connection is lost sooner, and after so many failures in a
// row. Then calls are answered at once with the problem, and the server is tried again after the breaker's pauses: by
// connecting or, if the connection stands, by the probe. It opens at once if the server refuses writes (OOM, MISCONF,
// NOREPLICAS, READONLY): the server may answer questions, but all that is decided would be lost.
//
// A connection that was given up after a silence is kept for its late replies; only the last kMostLingering are.
//
// Threads: the loop's only; destroyed there.
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
  Duration timeout = std::chrono::milliseconds(500);  // for probes
  // Made by FormatRedisCommand. Any answer but an error is good; so is NOSCRIPT, which says that its script is lost.
  std::string probe = FormatRedisCommand({"PING"});
  uint32_t breaker_failures = 5;
  Duration retry_first = std::chrono::milliseconds(100);
  Duration retry_longest = std::chrono::seconds(5);
};

inline constexpr size_t kMostLingering = 4;

class RedisServer final : private RedisConnection::Listener, private RedisCall::Handler {
 public:
  // Events of one server, for the object that knows where the servers are.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Called for an error that says that the call was not executed: MOVED, ASK, READONLY, CLUSTERDOWN, TRYAGAIN,
    // MASTERDOWN, LOADING, or a key on its way (IsKeyOnItsWay). A listener that takes the call sends it elsewhere or
    // answers it, and leaves null; a call that it leaves is answered with the error, and counts as a failure.
    virtual void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
      (void)server, (void)call, (void)error;
    }
    virtual void OnUp(RedisServer& server) { (void)server; }  // a connection stands (again)
    // There is no connection, or the breaker opened. The server must not be destroyed within, but later
    // (DropAtEndOfTurn).
    virtual void OnDown(RedisServer& server, const std::string& problem) { (void)server, (void)problem; }
  };

  // Connects at once. Loop, options and listener (which may be null) outlive it.
  RedisServer(RedisLoop& loop, std::vector<RedisAddress> addresses, const RedisServerOptions& options,
              Listener* listener);
  ~RedisServer() override;  // answers waiting calls

  // Sends to this server, whatever the call's slot.
  void Send(RedisCallPtr call);

  const RedisAddress& address() const { return addresses_[at_]; }  // the address that it is connected to, or tries
  RedisBreaker::State breaker() const { return breaker_.state(); }
  bool connected() const { return connection_ != nullptr && connection_->ready(); }
  const std::string& problem() const { return problem_; }  // the last failure; empty while all is well
  const std::string& warning() const { return warning_; }
  // Connections after the first, or after a failure: what the server had may be gone.
  uint64_t reconnects() const { return reconnects_; }
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
  size_t at_ = 0;
  std::vector<size_t> host_addresses_;  // for each host, the address with which to begin
  size_t tried_ = 0;                    // addresses tried in vain since a connection stood or a pause was made
  std::unique_ptr<RedisConnection> connection_;
  std::deque<std::unique_ptr<RedisConnection>> lingering_;  // the oldest first; ended ones are removed when the next is
                                                            // added
  std::optional<TimePoint> ready_since_;                    // time of this connection; empty: it is not ready
  bool connects_again_ = false;
  bool scripts_on_the_way_ = false;
  bool closing_ = false;
  std::vector<RedisCallPtr> for_next_address_;
  std::string problem_;
  std::string warning_;
  uint64_t reconnects_ = 0;
  uint64_t writes_ = 0;  // by earlier connections
  RedisLoop::Timer probe_timer_;
};

}  // namespace weir
