// RedisClusterTopology: one server for each slot, as the nodes themselves say.
//
// The map of the slots comes from CLUSTER SLOTS of any node. MOVED changes the slot at once and brings a new map in the
// background; ASK sends only this call to the other node; after TRYAGAIN (a slot is on its way and some of the keys are
// there, or a script finds that out) the call is sent again after a pause. All of them say that the call was not
// executed. A call follows at most kRedirections, and waits at most until its deadline. While a node with slots is away
// a new map is asked for, soon and then every second: a replica may take its place.
//
// Each node has its own breaker: if one is away, the models of its slots get no answer, and the others go on. A node
// without slots, such as the URL's, is kept as long as it is asked now and then: its breaker keeps the search for a map
// from connecting to it at each turn.
//
// Threads: the loop's only.
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
  static constexpr int kRedirections = 5;

  RedisClusterTopology(RedisLoop& loop, const RedisEndpoint& endpoint, const RedisServerOptions& servers);
  ~RedisClusterTopology() override;

  void Send(RedisCallPtr call) override;
  void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) override;  // asks for a new map
  RedisTopologyHealth Health() const override;

 private:
  struct Node {
    std::shared_ptr<RedisServer> server;
    size_t slots = 0;
    TimePoint used{};  // without slots: when something was last sent to it
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
  std::vector<Node*> by_slot_;
  bool known_ = false;           // there is a map
  std::string problem_;          // why there is no map; empty while the first is looked for
  RedisWaitingCalls for_map_;    // wait for the first map
  RedisWaitingCalls for_fresh_;  // calls of FindMasters, without a command: wait for a new map
  RedisWaitingCalls for_moved_;  // after TRYAGAIN
  RedisLoop::Timer moved_timer_;

  std::deque<RedisAddress> to_ask_;
  size_t turn_ = 0;  // rotates the nodes, so that not always the same one is believed
  bool asking_ = false;
  bool ask_again_ = false;
  std::string ask_problem_;
  TimePoint asked_at_{};
  Duration pause_;
  RedisLoop::Timer ask_timer_;

  RedisTopologyHealth gone_;  // the figures of servers that have gone
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir
