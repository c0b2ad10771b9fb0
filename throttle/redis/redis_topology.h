// RedisTopology: where the servers are. The store gives it calls; it finds who has their keys, follows when they move,
// and answers each exactly once (RedisCall::done).
//
//   standalone  one server
//   Sentinel    whoever the sentinels say is master; asked again when it is away or turns out to be a replica
//   Cluster     a server per slot; MOVED and ASK are followed
//
// Threads: the loop's only; made and destroyed there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "throttle/redis/redis_server.h"

namespace weir {

struct RedisTopologyHealth {
  RedisBreaker::State breaker = RedisBreaker::State::kClosed;  // of the servers, the worst; open where none is known
  bool some_answer = false;                                    // of the servers, where others are away
  uint64_t reconnects = 0;
  uint64_t writes = 0;
  std::string warning = {};  // of one of them
  std::string problem = {};  // of one of them, or of all: why they are not asked
};

class RedisTopology {
 public:
  virtual ~RedisTopology() = default;  // answers what waits

  // To the server that has call->slot. While it is not known who that is, the call waits, up to its deadline; where it
  // cannot be found out, it is answered at once with the problem.
  virtual void Send(RedisCallPtr call) = 0;
  // All servers that have keys (masters), as far as is known; waits like a call. The error says why there are none.
  using Servers = std::vector<std::shared_ptr<RedisServer>>;
  virtual void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) = 0;
  virtual RedisTopologyHealth Health() const = 0;
};

// `servers` is how to talk to servers that have keys (the login, TLS, the scripts); sentinels are asked without the
// prelude and the database. It outlives the topology, as the loop does.
std::unique_ptr<RedisTopology> MakeStandaloneTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                      const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                    const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                   const RedisServerOptions& servers);

}  // namespace weir
