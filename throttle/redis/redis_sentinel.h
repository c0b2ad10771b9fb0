// RedisSentinelTopology: the server that the sentinels name as the master, and that says so itself (ROLE).
//
// The sentinels are asked in turn, those of the URL and those that they name. The one that answered is asked again
// every second, and at once when the master is away or turns out to be a replica (READONLY, which says that a call was
// not executed: it waits for the new master, up to its deadline). While the sentinels name no other, calls go to the
// server that was master last, whose breaker answers them; until the first is found they wait.
//
// User and password are the data servers'; a sentinel gets them only if it asks for a password.
//
// Threads: the loop's only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "throttle/redis/redis_topology.h"
#include "throttle/redis/redis_waiting_calls.h"

namespace weir {

class RedisSentinelTopology final : public RedisTopology,
                                    private RedisServer::Listener,
                                    private RedisConnection::Listener {
 public:
  RedisSentinelTopology(RedisLoop& loop, const RedisEndpoint& endpoint, const RedisServerOptions& servers);
  ~RedisSentinelTopology() override;

  void Send(RedisCallPtr call) override;
  void FindMasters(TimePoint deadline, std::function<void(Result<Servers>)> done) override;
  RedisTopologyHealth Health() const override;

 private:
  void OnRefused(RedisServer& server, RedisCallPtr& call, const redisReply& error) override;
  void OnDown(RedisServer& server, const std::string& problem) override;
  void OnReady(RedisConnection&) override {}
  void OnEnd(RedisConnection& sentinel, const std::string& problem) override;

  void Search();
  void SearchSoon();
  void AskSentinel();
  bool LogInFromNowOn();
  void AskNextSentinel(const std::string& problem);
  void OnMasterAddress(const RedisOutcome& outcome);
  void OnSentinels(const RedisOutcome& outcome);
  void AskRole(const RedisAddress& address);
  void OnRole(const RedisAddress& address, const RedisOutcome& outcome);
  void Adopt();
  void GiveUp();

  using Handler = void (RedisSentinelTopology::*)(const RedisOutcome& outcome);
  void SendToSentinel(RedisConnection& sentinel, std::string_view what, Handler handler);

  RedisLoop& loop_;
  const std::string name_;
  const RedisServerOptions& options_;
  RedisConnectionOptions to_sentinels_;
  const std::string user_;
  const std::string password_;
  const std::vector<RedisAddress> seeds_;
  std::vector<RedisAddress> sentinels_;
  size_t at_ = 0;  // the sentinel that is asked, or was asked last
  std::shared_ptr<RedisConnection> sentinel_;

  std::shared_ptr<RedisServer> master_;     // gets the calls; null until the first is found
  std::shared_ptr<RedisServer> candidate_;  // is asked for its ROLE
  RedisWaitingCalls waiting_;               // calls that wait for a master
  std::string problem_;                     // why there is no master; empty while the first is looked for

  bool searching_ = false;
  bool search_again_ = false;
  size_t sentinels_left_ = 0;             // still to ask in this search
  std::vector<RedisAddress> no_masters_;  // addresses that turned out not to be masters, in this search
  std::string search_problem_;
  TimePoint searched_at_{};
  Duration pause_;
  RedisLoop::Timer search_timer_;

  RedisTopologyHealth gone_;  // the figures of servers that have gone
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir
