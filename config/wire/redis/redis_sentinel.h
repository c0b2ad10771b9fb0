// RedisSentinelTopology: sends all calls to one server, the master. Sentinels are Redis processes that watch a master,
// and replace it by a replica if it fails. The topology asks them for the master, and then asks the server that they
// name whether it is a master (ROLE).
//
// The topology asks the sentinels of the URL, and those that these name, one after the other, until one of them names a
// server that is a master. From then on it asks that sentinel again every second; it asks sooner if the master does not
// answer or turns out to be a replica. A replica answers READONLY, which says that the call was not executed; the call
// then waits for the new master, until its deadline or until the search fails. As long as the sentinels name no new
// master, new calls still go to the old one; if it does not answer, its circuit breaker (redis_breaker.h) makes them
// fail. During the first search, calls wait. If this search fails, calls fail at once with the problem, until a later
// search finds a master.
//
// The user and the password of the URL are for the master. When a sentinel asks for a password, the topology sends the
// user and the password to that sentinel, and to every sentinel that it asks later, until a search fails.
//
// Threads: only the loop's thread (redis_loop.h) may use a RedisSentinelTopology.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/wire/redis/redis_topology.h"
#include "config/wire/redis/redis_waiting_calls.h"

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
  size_t at_ = 0;                              // the index of the sentinel that is asked, or was asked last
  std::shared_ptr<RedisConnection> sentinel_;  // the connection to that sentinel

  std::shared_ptr<RedisServer> master_;     // receives the calls; null until the first master is found
  std::shared_ptr<RedisServer> candidate_;  // the server that is asked for its ROLE; null: none, or it is master_
  RedisWaitingCalls waiting_;               // calls that wait for a master
  std::string problem_;                     // why there is no master; empty until the first search has failed

  bool searching_ = false;
  bool search_again_ = false;             // whether another search must follow this one
  size_t sentinels_left_ = 0;             // how many sentinels this search may still ask, the present one included
  std::vector<RedisAddress> no_masters_;  // addresses at which this search found no master
  std::string search_problem_;
  TimePoint searched_at_{};
  Duration pause_;
  RedisLoop::Timer search_timer_;

  RedisTopologyHealth gone_;                                    // counts (reconnects, writes) of replaced masters
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // false once this object is destroyed; for callbacks
};

}  // namespace weir
