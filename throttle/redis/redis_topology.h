// RedisTopology: knows where the servers are. The store gives it calls; it finds the server that has their keys,
// follows when keys move, and answers each call exactly once (RedisCall::done).
//
//   standalone  one server
//   Sentinel    the master that the sentinels name; they are asked again when it is away or turns out to be a replica
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
  RedisBreaker::State breaker = RedisBreaker::State::kClosed;  // the worst of the servers'; open if none is known
  bool some_answer = false;                                    // some servers answer, if others are away
  uint64_t reconnects = 0;
  uint64_t writes = 0;
  std::string warning = {};  // a server's
  std::string problem = {};  // a server's, or why no server is asked
};

class RedisTopology {
 public:
  virtual ~RedisTopology() = default;  // answers waiting calls

  // Sends to the server that has call->slot. While that server is not known, the call waits, up to its deadline; if it
  // cannot be found out, the call is answered at once with the problem.
  virtual void Send(RedisCallPtr call) = 0;
  // Finds all servers that have keys (masters), as far as is known; waits like a call. The error says why there are
  // none.
  using Servers = std::vector<std::shared_ptr<RedisServer>>;
  virtual void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) = 0;
  virtual RedisTopologyHealth Health() const = 0;
};

// `servers` says how to talk to servers that have keys (the login, TLS, the scripts); sentinels are asked without the
// prelude and the database. It outlives the topology, and so does the loop.
std::unique_ptr<RedisTopology> MakeStandaloneTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                      const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                    const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                   const RedisServerOptions& servers);

}  // namespace weir
