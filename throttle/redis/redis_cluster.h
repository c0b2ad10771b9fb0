// RedisClusterTopology: sends each call to the node of a Redis Cluster that has the call's slot (redis_slot.h).
//
// The nodes themselves say which of them has a slot: any node answers CLUSTER SLOTS with a map of all slots. After the
// answer MOVED the slot belongs to the named node at once, and a new map is fetched in the background. After ASK only
// this call is sent to the named node. After TRYAGAIN (the slot is being moved, and only some of the call's keys have
// arrived), or a script's error that says the same (IsKeyOnItsWay), the call is sent again after a pause. All these
// answers say that the call was not executed. A call follows MOVED and ASK at most kRedirections times, and waits at
// most until its deadline. While a node with slots does not answer, a new map is fetched again and again, after pauses
// that grow to one second, because a replica may take the place of that node.
//
// Each node has its own breaker (redis_breaker.h): if one node does not answer, calls for its slots are answered with
// the problem, and other calls go on. A node without slots, such as one that only the URL names, is kept as long as it
// is asked now and then, so that its breaker keeps the search for a map from connecting to it every time.
//
// Threads: only the loop's thread (redis_loop.h) may use it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "throttle/redis/redis_cluster_map.h"
#include "throttle/redis/redis_topology.h"
#include "throttle/redis/redis_waiting_calls.h"

namespace weir {

class RedisClusterTopology final : public RedisTopology, private RedisServer::Listener {
 public:
  // The most MOVED and ASK that one call follows.
  static constexpr int kRedirections = 5;

  RedisClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint, const RedisServerOptions& servers);
  ~RedisClusterTopology() override;

  void Send(RedisCallPtr call) override;
  // Fetches a new map, and then calls `done`.
  void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) override;
  RedisTopologyHealth Health() const override;

 private:
  struct Node {
    std::shared_ptr<RedisServer> server;
    size_t slots = 0;  // how many slots it has
    TimePoint used{};  // without slots: when a command was last sent to it
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
  std::vector<Node*> by_slot_;   // null: no node has the slot
  bool known_ = false;           // whether there is a map
  std::string problem_;          // why there is no map; empty while the first is looked for
  RedisWaitingCalls for_map_;    // calls that wait for the first map
  RedisWaitingCalls for_fresh_;  // calls of FindMasters, which have no command and wait for a new map
  RedisWaitingCalls for_moved_;  // calls that are sent again after TRYAGAIN
  RedisLoop::Timer moved_timer_;

  std::deque<RedisAddress> to_ask_;  // nodes still to be asked for the map
  size_t turn_ = 0;                  // rotates the nodes, so that not always the same one is asked first
  bool asking_ = false;              // whether the search for a map goes on
  bool ask_again_ = false;           // whether another map is needed after this one
  std::string ask_problem_;
  TimePoint asked_at_{};
  Duration pause_;
  RedisLoop::Timer ask_timer_;

  RedisTopologyHealth gone_;                                    // the figures of servers that were removed
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once this object is destroyed; for callbacks
};

}  // namespace weir
