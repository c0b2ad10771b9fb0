// RedisClusterTopology: sends each call to the node of a Redis Cluster that has the call's slot (redis_slot.h).
//
// Any node answers CLUSTER SLOTS with a map, which says which node has which slots. If a node answers a call with
// MOVED, the slot belongs to the named node from then on, and the topology fetches a new map in the background. If a
// node answers with ASK, the topology sends only this call to the named node. TRYAGAIN means that the slot is being
// moved, and that only some of the call's keys have arrived; a script's error may mean the same (IsKeyOnItsWay). In
// both cases the topology sends the call again after a pause. MOVED, ASK and TRYAGAIN say that the call was not
// executed; the topology assumes the same for the script's error. A call follows at most kRedirections errors MOVED and
// ASK between two such pauses, and waits at most until its deadline. While a node with slots does not answer, a replica
// may take its place, so the topology fetches new maps, after pauses that grow up to one second.
//
// Each node has its own circuit breaker (redis_breaker.h): if a node does not answer, calls for its slots end with the
// problem, and calls for other nodes are not affected. A node without slots, such as one that only the URL names, is
// removed when no command was sent to it for more than ten seconds. Until then its breaker stays in effect, so that the
// search for a map does not connect to it every time.
//
// Threads: only the loop's thread (redis_loop.h) may use a RedisClusterTopology.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/wire/redis/redis_cluster_map.h"
#include "config/wire/redis/redis_topology.h"
#include "config/wire/redis/redis_waiting_calls.h"

namespace weir {

class RedisClusterTopology final : public RedisTopology, private RedisServer::Listener {
 public:
  // A call that was sent again this often (RedisCall::sent_again) follows no further MOVED or ASK.
  static constexpr int kRedirections = 5;

  RedisClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint, const RedisServerOptions& servers);
  ~RedisClusterTopology() override;

  void Send(RedisCallPtr call) override;
  // Fetches a new map, unless a search for one is going on already; when the search ends, calls `done`.
  void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) override;
  RedisTopologyHealth Health() const override;

 private:
  struct Node {
    std::shared_ptr<RedisServer> server;
    size_t slots = 0;  // how many slots the node has
    TimePoint used{};  // if the node has no slots: when it was last in use
  };
  using Nodes = std::map<std::pair<std::string, uint16_t>, Node>;

  void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) override;
  void OnUp(RedisServer& server) override;
  void OnDown(RedisServer& server, const std::string& problem) override;
  bool Follow(RedisCallPtr& call, const RedisRedirection& redirection);

  Node& NodeAt(const RedisAddress& address);
  void GiveSlot(size_t slot, Node* node);
  void DropUnused();
  void Retire(Nodes::iterator node);

  void AskForMap();
  void AskForMapSoon();
  void AskNext();
  void OnMap(const RedisAddress& asked, const RedisOutcome& outcome);
  void Adopt(const std::vector<RedisSlotRange>& ranges);
  void GiveUp();
  bool SomeAreAway() const;

  RedisLoop& loop_;
  const std::vector<RedisAddress> seeds_;
  const RedisServerOptions& options_;
  Nodes nodes_;
  std::vector<Node*> by_slot_;   // the node of each slot; null: no node has the slot
  bool known_ = false;           // whether there is a map
  std::string problem_;          // why there is no map; empty until the first search for a map has failed
  RedisWaitingCalls for_map_;    // calls that wait for the first map
  RedisWaitingCalls for_fresh_;  // calls of FindMasters, which have no command and wait for a new map
  RedisWaitingCalls for_moved_;  // calls that wait after TRYAGAIN, or for a key on its way
  RedisLoop::Timer moved_timer_;

  std::deque<RedisAddress> to_ask_;  // the nodes that are still to be asked for the map
  size_t turn_ = 0;                  // rotates the nodes that answer, so that each search begins with another one
  bool asking_ = false;              // whether a search for a map is going on
  bool ask_again_ = false;           // whether another search must follow this one
  std::string ask_problem_;
  TimePoint asked_at_{};
  Duration pause_;
  RedisLoop::Timer ask_timer_;

  RedisTopologyHealth gone_;                                    // counts (reconnects, writes) of removed servers
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once this object is destroyed; for callbacks
};

}  // namespace weir
