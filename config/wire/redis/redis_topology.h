// RedisTopology: knows which Redis servers there are, and which server has which keys. RedisCore (redis_core.h) passes
// calls to it. The topology sends each call to the server that has the call's slot (redis_slot.h), sends it again if
// the slot has moved to another server, and gives each call exactly one outcome (RedisCall::done).
//
//   standalone  one server (redis_core.cc)
//   Sentinel    the master that the sentinels name. Every second the topology asks the sentinel that named it last; it
//               asks sooner if the master does not answer or turns out to be a replica (redis_sentinel.h)
//   Cluster     several servers, each of which has some of the slots (redis_cluster.h)
//
// Threads: only the loop's thread (redis_loop.h) may make, use and destroy a RedisTopology.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "config/wire/redis/redis_server.h"

namespace weir {

struct RedisTopologyHealth {
  // The worst state of the servers that have keys. kClosed while the first search for the servers is going on. kOpen
  // from the failure of that search until a later one succeeds, and while some slot of a cluster has no server.
  RedisBreaker::State breaker = RedisBreaker::State::kClosed;
  // Only for a cluster: true if the breaker of at least one server that has slots is closed.
  bool some_answer = false;
  uint64_t reconnects = 0;   // RedisServer::reconnects of all servers, also removed ones; a new master adds one
  uint64_t writes = 0;       // RedisServer::writes of all servers, also removed ones
  std::string warning = {};  // the warning of one of the servers; empty: none has a warning
  std::string problem = {};  // the problem of one of the servers, or why there is no server; empty: no problem
};

class RedisTopology {
 public:
  virtual ~RedisTopology() = default;  // ends waiting calls with a problem

  // Sends the call to the server that has call->slot. While the first search for the servers is going on, calls wait,
  // at most until their deadlines. If that search fails, calls end with the problem, until a later search succeeds. If
  // no server of a cluster has the slot, the call ends with a problem, too.
  virtual void Send(RedisCallPtr call) = 0;
  // Calls `done` once with all servers that have keys (masters), perhaps before FindMasters returns. A cluster first
  // fetches a new map of its slots; Sentinel waits until the first master is found. If that fails, or has not succeeded
  // by `deadline`, calls `done` with an error.
  using Servers = std::vector<std::shared_ptr<RedisServer>>;
  virtual void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) = 0;
  virtual RedisTopologyHealth Health() const = 0;
};

// These functions make a topology, which begins to connect at once. `servers` has the options for the servers that have
// keys: the login, TLS, and the commands that load the scripts (RedisConnectionOptions::prelude). The topology sends
// neither the prelude nor SELECT to sentinels. It sends them the user and the password only after one of them has asked
// for a password (redis_sentinel.h). `loop` and `servers` must outlive the topology.
std::unique_ptr<RedisTopology> MakeSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                    const RedisServerOptions& servers);
std::unique_ptr<RedisTopology> MakeClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint,
                                                   const RedisServerOptions& servers);

}  // namespace weir
