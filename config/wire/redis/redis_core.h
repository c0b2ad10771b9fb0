// RedisCore: the client through which a store, which keeps the counters of a limiter, uses Redis. It owns the thread of
// the connections (RedisLoop). It accepts calls from any thread, passes each call to the right server (RedisTopology),
// and passes the outcome back. Calls for one server that come at about the same time are sent with one write
// (pipelining).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "config/wire/redis/redis_client_options.h"
#include "config/wire/redis/redis_loop.h"
#include "config/wire/redis/redis_topology.h"

namespace weir {

class RedisCore {
 public:
  using Command = RedisCommand;

  // Returns without waiting for a connection. `load_scripts` are the commands (made by LoadRedisScript) that each
  // connection sends before any call. The loop's thread calls `on_well` each time a check (CheckSoon) finds that all
  // servers answer. If the URL demands TLS, and the TLS files of `options` cannot be used, every call ends with that
  // problem.
  RedisCore(const RedisEndpoint& endpoint, const RedisClientOptions& options, std::vector<std::string> load_scripts,
            std::function<void()> on_well);
  // Ends waiting calls with a problem: calls their `done` before it returns. Must not run on the loop's thread.
  ~RedisCore();

  // Sends the command to the server that has its slot, and returns without waiting. The loop's thread calls `done`
  // exactly once, at the latest after RedisClientOptions::timeout, and `late` (RedisCall) at most once. Neither may
  // block. Any thread may call Submit.
  void Submit(Command command, std::function<void(RedisOutcome)> done, RedisCall::Late late = {});
  // Sends the commands, waits for their outcomes (at most four timeouts), and returns the outcomes in the order of the
  // commands. Any thread except the loop's thread may call AskAll.
  std::vector<RedisOutcome> AskAll(std::vector<Command> commands);
  // Does the same as AskAll for one command.
  RedisOutcome Ask(Command command);

  // Call this after a failure, from any thread. Probes all servers, after pauses of growing length, until all of them
  // answer; then calls `on_well`. Does nothing if such a check is already going on, or if RedisCore uses no server
  // because of a wrong configuration.
  void CheckSoon();
  TimePoint Now() const { return loop_.Now(); }
  // Returns the health of the servers (RedisTopology::Health). Waits for the loop's thread. If a wrong configuration
  // keeps RedisCore from using any server, the breaker is kOpen.
  RedisTopologyHealth ServersHealth() const;

 private:
  void Drain();
  void Send(RedisCallPtr call);
  void ArmCheck();
  void Check();
  void OnMasters(const Result<RedisTopology::Servers>& masters);
  void OnChecked(bool well);

  const Duration timeout_;
  RedisServerOptions servers_;
  // Why RedisCore uses no server: an error of the configuration, or the end of this object. Empty: it uses the servers.
  std::string problem_;
  const std::function<void()> on_well_;
  const Duration check_first_;
  const Duration check_longest_;
  Duration check_pause_;
  bool checking_ = false;
  std::optional<RedisLoop::Timer> check_timer_;
  std::unique_ptr<RedisTopology> topology_;
  Mutex mutex_;
  std::vector<RedisCallPtr> inbox_ WEIR_GUARDED_BY(mutex_);
  mutable RedisLoop loop_;  // the last member, because its thread uses all others
};

}  // namespace weir
