// RedisTopology: knows which Redis servers there are, and which of them has a key. RedisCore (redis_core.h) passes
// calls to it. The topology sends each call to the server that has the call's slot (redis_slot.h), follows keys that
// move to another server, and answers each call exactly once (RedisCall::done).
//
//   standalone  one server
//   Sentinel    the master that the sentinels name; they are asked every second, and at once if the master does not
//               answer or turns out to be a replica
//   Cluster     several servers, each of which has some of the slots; MOVED and ASK are followed (redis_cluster.h)
//
// Threads: only the loop's thread (redis_loop.h) may make, use and destroy it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "throttle/redis/redis_server.h"

namespace weir {

struct RedisTopologyHealth {
  // The worst state of the servers that have keys. Also kClosed while the first search for the servers goes on; kOpen
  // if that search has failed, or if some slot of a cluster has no server.
  RedisBreaker::State breaker = RedisBreaker::State::kClosed;
  // True if the breaker of at least one server of a cluster is closed. Only a cluster sets it.
  bool some_answer = false;
  uint64_t reconnects = 0;   // RedisServer::reconnects of all servers together, removed ones too
  uint64_t writes = 0;       // the same for RedisServer::writes
  std::string warning = {};  // warning of one of the servers; empty: none
  std::string problem = {};  // problem of one of the servers, or why there is no server; empty: none
};

class RedisTopology {
 public:
  virtual ~RedisTopology() = default;  // answers waiting calls with a problem

  // Sends the call to the server that has call->slot. While the first search for the servers goes on, calls wait, up to
  // their deadlines. If that search fails, calls are answered with the problem until a later search succeeds. A call
  // whose slot no server of a cluster has is also answered with a problem.
  virtual void Send(RedisCallPtr call) = 0;
  // Calls `done` once with all servers that have keys (masters), perhaps before this returns. A cluster fetches a new
  // map of its slots before; Sentinel waits until the first master is found. `done` gets an error if that fails, or has
  // not succeeded by `deadline`.
  using Servers = std::vector<std::shared_ptr<RedisServer>>;
  virtual void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) = 0;
  virtual RedisTopologyHealth Health() const = 0;
};

// These make a topology, which begins to connect at once. `servers` says how to talk to the servers that have keys: the
// login, TLS, and the prelude (RedisConnectionOptions: the commands that load the scripts). Sentinels get neither the
// prelude nor the database, and get the user and the password only if they ask for a password. `loop` and `servers`
// must outlive the topology.
std::unique_ptr<RedisTopology> MakeStandaloneTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                      const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                    const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                   const RedisServerOptions& servers);

}  // namespace weir
