// RedisCore: a RedisQuotaStore without the quotas: the loop, the servers, and how calls of any thread get there and
// back.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "config/status.h"
#include "throttle/quota/redis/redis_loop.h"
#include "throttle/quota/redis/redis_messages.h"
#include "throttle/quota/redis/redis_topology.h"

namespace weir {

class RedisCore {
 public:
  using Command = RedisMessages::Command;

  RedisCore(const RedisEndpoint& endpoint, const RedisStoreOptions& options, std::vector<std::string> scripts);
  ~RedisCore();  // what waits is answered

  // To the server that has the slot. `done` is called once, by the loop's thread.
  void Submit(Command command, std::function<void(RedisOutcome)> done);
  // Waits for the answers, which are in the order of the commands; `server` null: to who has their slots. Not for the
  // loop's thread.
  std::vector<RedisOutcome> AskAll(std::vector<Command> commands, const std::shared_ptr<RedisServer>& server);
  RedisOutcome Ask(Command command, const std::shared_ptr<RedisServer>& server = {});
  Result<RedisTopology::Servers> Masters();
  // A server that was asked is given back here, for it is the loop's.
  void Release(RedisTopology::Servers servers);

  RedisTopologyHealth ServersHealth() const;

 private:
  void Drain();
  void Send(RedisCallPtr call);

  const Duration timeout_;
  RedisServerOptions servers_;
  std::string problem_;  // of the configuration: no server is asked
  mutable RedisLoop loop_;
  std::unique_ptr<RedisTopology> topology_;
  std::mutex mutex_;
  std::vector<RedisCallPtr> inbox_;
};

}  // namespace weir
