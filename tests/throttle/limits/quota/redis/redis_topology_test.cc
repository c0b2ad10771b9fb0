// Calls with a single key, such as a node answers while their slot moves. The store's scripts have several keys and
// never get to see these answers.
#include "config/wire/redis/redis_topology.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "config/wire/redis/redis_slot.h"
#include "tests/throttle/limits/quota/redis/cluster_servers.h"

namespace weir {
namespace {

class Topology {
 public:
  explicit Topology(const std::string& url, Duration patience = std::chrono::minutes(1))
      : endpoint_(ParseRedisUrl(url).value()), patience_(patience) {
    options_.timeout = patience;
    options_.connection.silence = patience;
    loop_.Call([this] { topology_ = MakeClusterTopology(loop_, endpoint_, options_); });
  }
  ~Topology() {
    loop_.Call([this] { topology_.reset(); });
  }

  std::future<RedisOutcome> Send(std::vector<std::string_view> words, std::string_view key) {
    auto promise = std::make_shared<std::promise<RedisOutcome>>();
    std::future<RedisOutcome> outcome = promise->get_future();
    const std::string command = FormatRedisCommand(words);
    loop_.Call([&] {
      auto call = std::make_unique<RedisCall>();
      call->command = command;
      call->slot = RedisSlot(key);
      call->deadline = loop_.Now() + patience_;
      call->done = [promise](RedisOutcome result) { promise->set_value(std::move(result)); };
      topology_->Send(std::move(call));
    });
    return outcome;
  }
  // Sends INCR key and returns the count.
  int64_t Count(std::string_view key) {
    const RedisOutcome outcome = Send({"INCR", key}, key).get();
    EXPECT_TRUE(outcome.answered()) << outcome.problem;
    if (!outcome.answered()) return -1;
    EXPECT_EQ(outcome.reply->type, REDIS_REPLY_INTEGER) << TextOf(*outcome.reply);
    return outcome.reply->integer;
  }
  Result<size_t> Masters() {
    std::promise<Result<size_t>> promise;
    loop_.Call([&] {
      topology_->FindMasters(loop_.Now() + patience_, [&](const Result<RedisTopology::Servers>& servers) {
        promise.set_value(servers.ok() ? Result<size_t>(servers.value().size()) : Result<size_t>(servers.status()));
      });
    });
    return promise.get_future().get();
  }
  RedisTopologyHealth Health() {
    RedisTopologyHealth health;
    loop_.Call([&] { health = topology_->Health(); });
    return health;
  }

 private:
  const RedisEndpoint endpoint_;
  const Duration patience_;
  RedisServerOptions options_;
  RedisLoop loop_;
  std::unique_ptr<RedisTopology> topology_;
};

TEST(ClusterTopology, CountsEachCallOnceWhereverItsKeyIs) {
  ClusterServers cluster;
  Topology topology(cluster.url());
  std::vector<std::string> keys;
  for (int i = 0; i < 50; ++i) keys.push_back("key-" + std::to_string(i));
  for (int64_t count = 1; count <= 3; ++count) {
    for (const std::string& key : keys) EXPECT_EQ(topology.Count(key), count) << key;
  }
  for (size_t node = 0; node < cluster.size(); ++node) EXPECT_FALSE(cluster.Keys(node).empty());
  EXPECT_EQ(topology.Masters().value(), 3u);
}

TEST(ClusterTopology, FollowsAskForAKeyThatHasGoneAheadAndMovedAtTheEnd) {
  ClusterServers cluster;
  Topology topology(cluster.url());
  const std::string old_key = "{a}:old";
  const std::string new_key = "{a}:new";
  EXPECT_EQ(topology.Count(old_key), 1);
  const int slot = cluster.SlotOf(old_key);
  const size_t from = cluster.OwnerOf(slot);
  const size_t to = (from + 1) % cluster.size();
  cluster.BeginMove(slot, to);
  EXPECT_EQ(topology.Count(old_key), 2);  // the key is still there
  EXPECT_EQ(topology.Count(new_key), 1);  // the key is created on the slot's new node
  EXPECT_EQ(cluster.Calls(to, "asking"), 1);
  cluster.MoveKeys(slot, to);
  EXPECT_EQ(topology.Count(old_key), 3);
  EXPECT_EQ(topology.Count(new_key), 2);
  EXPECT_EQ(cluster.Calls(to, "asking"), 3);
  cluster.EndMove(slot, to);
  EXPECT_EQ(topology.Count(old_key), 4);
  EXPECT_EQ(topology.Count(new_key), 3);
  EXPECT_EQ(cluster.Calls(to, "asking"), 3);
}

TEST(ClusterTopology, FollowsMovedOnceAndKnowsTheSlotFromThenOn) {
  ClusterServers cluster;
  Topology topology(cluster.url());
  EXPECT_EQ(topology.Count("{a}"), 1);
  const int slot = cluster.SlotOf("{a}");
  const size_t from = cluster.OwnerOf(slot);
  cluster.Move(slot, (from + 1) % cluster.size());
  for (int64_t count = 2; count < 10; ++count) EXPECT_EQ(topology.Count("{a}"), count);
  EXPECT_EQ(cluster.node(from).Info("errorstats", "errorstat_MOVED"), "count=1");
}

// The owner redirects by ASK to the other node, which does not know of the move and redirects by MOVED to the owner.
TEST(ClusterTopology, GivesUpOnCircularRedirections) {
  ClusterServers cluster;
  Topology topology(cluster.url());
  EXPECT_EQ(topology.Count("{a}"), 1);
  const int slot = cluster.SlotOf("{a}");
  const size_t from = cluster.OwnerOf(slot);
  const size_t to = (from + 1) % cluster.size();
  cluster.BeginMove(slot, to);
  ASSERT_TRUE(cluster.node(to).Command({"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"}).ok());
  const RedisOutcome outcome = topology.Send({"INCR", "{a}:new"}, "{a}").get();
  ASSERT_TRUE(outcome.answered()) << outcome.problem;
  EXPECT_TRUE(IsError(*outcome.reply, "MOVED") || IsError(*outcome.reply, "ASK")) << TextOf(*outcome.reply);
  EXPECT_EQ(topology.Count("{a}"), 2);  // and the failure has left no damage
}

TEST(ClusterTopology, AnswersPendingCallsWhenItIsDestroyed) {
  ClusterServers cluster({.masters = 1});
  cluster.node(0).Pause();
  std::vector<std::future<RedisOutcome>> outcomes;
  {
    Topology topology(cluster.url());
    for (int i = 0; i < 10; ++i) outcomes.push_back(topology.Send({"INCR", "a"}, "a"));
  }
  for (auto& outcome : outcomes) {
    const RedisOutcome answer = outcome.get();
    EXPECT_FALSE(answer.answered());
    EXPECT_FALSE(answer.problem.empty());
  }
}

}  // namespace
}  // namespace weir
