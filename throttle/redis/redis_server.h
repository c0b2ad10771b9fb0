// RedisServer: a server at one address (or at the first of several that answers), whatever happens to the connection:
// connects, connects again, loads the scripts that it has lost, and keeps the breaker.
//
// While it connects for the first time, calls wait, up to their deadlines; so do those that come while it connects
// again after a connection was lost that stood for a while (`retry_first`; what was on the way then is answered with
// the problem). Where connecting fails, where the connection is lost sooner, and after so many failures in a row, the
// breaker is open: calls are answered at once with the problem, and the server is tried again after the breaker's
// pauses: by connecting, or, where the connection stands, by the probe. It opens at once where the server refuses what
// is to be written (OOM, MISCONF, NOREPLICAS, READONLY): it may answer questions, and all that is decided would be
// lost.
//
// A connection that was given up after a silence is kept for its late replies; of such the last kMostLingering.
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
  Duration timeout = std::chrono::milliseconds(500);  // of probes
  // FormatRedisCommand; any answer but an error is a good one, and so is that the script of it is lost (NOSCRIPT).
  std::string probe = FormatRedisCommand({"PING"});
  uint32_t breaker_failures = 5;
  Duration retry_first = std::chrono::milliseconds(100);
  Duration retry_longest = std::chrono::seconds(5);
};

inline constexpr size_t kMostLingering = 4;

class RedisServer final : private RedisConnection::Listener, private RedisCall::Handler {
 public:
  // What whoever knows where the servers are wants to hear of one.
  class Listener {
   public:
    virtual ~Listener() = default;
    // An error that says that the call was not executed: MOVED, ASK, READONLY, CLUSTERDOWN, TRYAGAIN, MASTERDOWN,
    // LOADING, or a key on its way (IsKeyOnItsWay). Who takes the call sends it elsewhere or answers it, and leaves
    // null; what is left in `call` is answered with the error, and counts as a failure.
    virtual void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) {
      (void)server, (void)call, (void)error;
    }
    virtual void OnUp(RedisServer& server) { (void)server; }  // a connection stands (again)
    // No connection, or the breaker opened. It must not be destroyed within, but later (DropAtEndOfTurn).
    virtual void OnDown(RedisServer& server, const std::string& problem) { (void)server, (void)problem; }
  };

  // Connects at once. Loop, options and listener (which may be null) outlive it.
  RedisServer(RedisLoop& loop, std::vector<RedisAddress> addresses, const RedisServerOptions& options,
              Listener* listener);
  ~RedisServer() override;  // answers what waits

  // To this server, whatever the call's slot.
  void Send(RedisCallPtr call);

  const RedisAddress& address() const { return addresses_[at_]; }  // that it is connected to, or tries
  RedisBreaker::State breaker() const { return breaker_.state(); }
  bool connected() const { return connection_ != nullptr && connection_->ready(); }
  const std::string& problem() const { return problem_; }  // of the last failure; empty while all is well
  const std::string& warning() const { return warning_; }
  // Connections after the first, or after a failure: what it had may be gone.
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
  std::vector<size_t> host_addresses_;  // of each host, where to begin
  size_t tried_ = 0;                    // addresses in vain, since a connection stood or a pause was made
  std::unique_ptr<RedisConnection> connection_;
  std::deque<std::unique_ptr<RedisConnection>> lingering_;  // the oldest first; what has ended goes with the next
  std::optional<TimePoint> ready_since_;                    // this connection
  bool connects_again_ = false;
  bool scripts_on_the_way_ = false;
  bool closing_ = false;
  std::vector<RedisCallPtr> for_next_address_;
  std::string problem_;
  std::string warning_;
  uint64_t reconnects_ = 0;
  uint64_t writes_ = 0;  // of earlier connections
  RedisLoop::Timer probe_timer_;
};

}  // namespace weir
