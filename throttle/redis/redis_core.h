// RedisCore: a Redis, as a store that keeps something in it uses it: the loop, the servers, and how calls of any thread
// get there and back. Calls of one moment are written together and answered in order (pipelining).
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

  // load_scripts: what each server is told first (LoadRedisScript). on_well: called when all is well after CheckSoon,
  // by the loop's thread.
  RedisCore(const RedisEndpoint& endpoint, const RedisClientOptions& options, std::vector<std::string> load_scripts,
            std::function<void()> on_well);
  ~RedisCore();  // answers waiting calls

  // Sends to the server that has the slot. `done` is called once, by the loop's thread, and so is `late` (RedisCall).
  void Submit(Command command, std::function<void(RedisOutcome)> done, RedisCall::Late late = {});
  // Waits for the answers, which are in the order of the commands. Must not be called by the loop's thread.
  std::vector<RedisOutcome> AskAll(std::vector<Command> commands);
  RedisOutcome Ask(Command command);

  // To be called after a failure: probes all servers, with longer and longer pauses, until they answer; then it is
  // well. Any thread.
  void CheckSoon();
  TimePoint Now() const { return loop_.Now(); }
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
  std::string problem_;  // an error of the configuration: then no server is asked
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
