// RedisCore: the client through which a store uses Redis. It owns the thread of the connections (RedisLoop), finds the
// right server for each call (RedisTopology), and passes calls from any thread to that server and outcomes back. Calls
// that come at about the same time are written together and answered in order (pipelining).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/status.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_loop.h"
#include "throttle/redis/redis_topology.h"

namespace weir {

class RedisCore {
 public:
  using Command = RedisCommand;

  // Returns without waiting for a connection. `load_scripts` are the commands (LoadRedisScript) that each server gets
  // first. `on_well` is called by the loop's thread each time a check (CheckSoon) finds that all servers answer. If the
  // TLS files of `options` cannot be used, all calls are answered with that problem.
  RedisCore(const RedisEndpoint& endpoint, const RedisClientOptions& options, std::vector<std::string> load_scripts,
            std::function<void()> on_well);
  // Answers waiting calls with a problem: their `done` is called before this returns. Must not run on the loop's
  // thread.
  ~RedisCore();

  // Sends the command to the server that has its slot, and returns without waiting. The loop's thread calls `done`
  // exactly once, at the latest when the client's timeout is over, and `late` at most once (RedisCall). Neither may
  // block. Any thread may call Submit.
  void Submit(Command command, std::function<void(RedisOutcome)> done, RedisCall::Late late = {});
  // Sends the commands, waits at most four timeouts for their outcomes, and returns these in the order of the commands.
  // Any thread but the loop's may call it.
  std::vector<RedisOutcome> AskAll(std::vector<Command> commands);
  // Does the same for one command.
  RedisOutcome Ask(Command command);

  // Call this after a failure, from any thread. Probes all servers, with longer and longer pauses, until all of them
  // answer, and then calls `on_well`. Does nothing while such a check goes on.
  void CheckSoon();
  TimePoint Now() const { return loop_.Now(); }
  // Waits for the loop's thread. The breaker counts as open if no server is asked because the configuration is wrong.
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
  // Why no server is asked: an error of the configuration, or the end of this object; empty: servers are asked.
  std::string problem_;
  const std::function<void()> on_well_;
  const Duration check_first_;
  const Duration check_longest_;
  Duration check_pause_;
  bool checking_ = false;
  std::optional<RedisLoop::Timer> check_timer_;
  std::unique_ptr<RedisTopology> topology_;
  std::mutex mutex_;
  std::vector<RedisCallPtr> inbox_;
  mutable RedisLoop loop_;  // the last member: its thread uses all the others
};

}  // namespace weir
