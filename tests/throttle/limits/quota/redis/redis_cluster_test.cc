// RedisQuotaStore on a real cluster of three masters.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/manual_clock.h"
#include "config/wire/redis/redis_slot.h"
#include "tests/throttle/limits/quota/redis/cluster_servers.h"
#include "tests/throttle/limits/quota/redis/deciders.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
constexpr ModelQuota kWide{.max_rpm = 1'000'000};

// Returns a model whose keys are on this node.
std::string ModelOn(ClusterServers& cluster, size_t node, int skip = 0) {
  for (int i = 0;; ++i) {
    std::string model = "model-" + std::to_string(i);
    if (cluster.OwnerOf(cluster.SlotOf(model)) == node && skip-- == 0) return model;
  }
}

int64_t Errors(RedisProcess& node, const std::string& kind) {
  const std::string stat = node.Info("errorstats", "errorstat_" + kind);  // count=12
  return stat.empty() ? 0 : std::stoll(stat.substr(stat.find('=') + 1));
}

TEST(RedisCluster, SpreadsTheModelsAndKeepsEachInOneSlot) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), clock);
  const std::vector<TierCharge> tiers = {
      {.key = "user:alice", .limit = {.amount = 100, .per = kMinute}},
      {.key = "qos:premium", .limit = {.kind = Limit::Kind::kBucket, .amount = 9, .per = kMinute, .burst = 9}}};
  std::set<std::string> models;
  for (int i = 0; i < 60; ++i) models.insert("model {" + std::to_string(i) + "}:a");
  for (const std::string& model : models) {
    const ChargeAnswer held = store->Run({.model = model,
                                          .mode = Charge::Mode::kHold,
                                          .tokens = 5,
                                          .tiers = tiers,
                                          .default_quota = kWide,
                                          .hold_for = kMinute});
    ASSERT_TRUE(held.fits()) << held.problem;
    ASSERT_EQ(store->Run(Settlement{.reservation = held.reservation, .tokens = 3}).code,
              SettlementAnswer::Code::kSettled);
  }
  std::map<std::string, std::set<int64_t>> slots;  // by tag
  for (size_t node = 0; node < cluster.size(); ++node) {
    const std::vector<std::string> keys = cluster.Keys(node);
    EXPECT_FALSE(keys.empty()) << node;
    for (const std::string& key : keys) {
      if (!key.starts_with("weir:{")) continue;  // names, which all models of a slot share
      const size_t open = key.find('{');
      const std::string tag = key.substr(open, key.find('}') - open);
      slots[tag].insert(cluster.SlotOf(key));
    }
  }
  EXPECT_EQ(slots.size(), models.size());
  for (const auto& [tag, of_tag] : slots) EXPECT_EQ(of_tag.size(), 1u) << tag;
  const Result<std::vector<std::string>> listed = store->Models();
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_EQ(std::set<std::string>(listed.value().begin(), listed.value().end()), models);
}

// A slot moves round the nodes while threads decide: the owner answers ASK and TRYAGAIN during a move, MOVED after it.
TEST(RedisCluster, LosesAndOversellsNothingWhileASlotMoves) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), clock);
  const std::string model = ModelOn(cluster, 0);
  const int slot = cluster.SlotOf(model);
  const ModelQuota quota{.max_rpm = 3000};
  Deciders deciders(*store, model, quota);
  ASSERT_TRUE(deciders.GoOn());
  for (int move = 0; move < 6; ++move) {
    RedisProcess& from = cluster.node(cluster.OwnerOf(slot));
    const size_t to = (cluster.OwnerOf(slot) + 1) % cluster.size();
    const int64_t asked = Errors(from, "ASK");
    cluster.BeginMove(slot, to);
    cluster.MoveKeys(slot, to);
    ASSERT_TRUE(Eventually([&] { return Errors(from, "ASK") > asked; }));
    cluster.EndMove(slot, to);
    ASSERT_TRUE(deciders.GoOn());
  }
  // At least after the first move; later a new map may arrive before the next call.
  EXPECT_GT(Errors(cluster.node(0), "MOVED"), 0);
  EXPECT_TRUE(Eventually([&] { return deciders.refused() > 0; }));
  deciders.Stop();
  EXPECT_EQ(deciders.away(), 0) << deciders.problem();
  EXPECT_EQ(deciders.taken(), quota.max_rpm);
  EXPECT_EQ(PeekAt(*store, model).usage.rpm, quota.max_rpm);
}

// The same, key by key, with reservations and a tier, which make several keys: a script may find only a part of a
// slot's keys.
TEST(RedisCluster, LosesNoReservationWhileTheKeysOfASlotMoveOneByOne) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), clock);
  const std::string model = ModelOn(cluster, 0);
  const int slot = cluster.SlotOf(model);
  const std::vector<TierCharge> tiers = {{.key = "user:alice", .limit = {.amount = 1'000'000, .per = kMinute}}};
  const auto hold = [&] {
    return store->Run({.model = model,
                       .mode = Charge::Mode::kHold,
                       .tokens = 10,
                       .tiers = tiers,
                       .default_quota = kWide,
                       .hold_for = std::chrono::hours(1)});
  };
  ASSERT_TRUE(hold().fits());  // it is never settled, so that there are keys of all kinds
  std::atomic<bool> stop{false};
  std::atomic<int64_t> settled{0};
  std::atomic<int64_t> wrong{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const ChargeAnswer held = hold();
        const bool is_settled =
            held.fits() && store->Run(Settlement{.reservation = held.reservation, .tokens = 3}).code ==
                               SettlementAnswer::Code::kSettled;
        ++(is_settled ? settled : wrong);
      }
    });
  }
  const auto goes_on = [&] {
    return Eventually([&, enough = settled + 20] { return settled >= enough || wrong > 0; });
  };
  ASSERT_TRUE(goes_on());
  for (int move = 0; move < 4; ++move) {
    const size_t to = (cluster.OwnerOf(slot) + 1) % cluster.size();
    cluster.BeginMove(slot, to);
    cluster.MoveKeys(slot, to, 1);
    cluster.EndMove(slot, to);
    ASSERT_TRUE(goes_on());
  }
  stop = true;
  threads.clear();
  EXPECT_EQ(wrong, 0);
  const ChargeAnswer now = store->Run({.model = model, .requests = 0, .tiers = tiers});
  EXPECT_EQ(now.usage.rpm, settled + 1);
  EXPECT_EQ(now.usage.tpm, 3 * settled + 10);
  EXPECT_EQ(now.usage.open_reservations, 1);
  ASSERT_EQ(now.tiers.size(), 1);
  EXPECT_EQ(now.tiers[0].used, settled + 1);
}

// The last reservation takes its keys with it, and a script that used them again would fail half-way: what is settled,
// or expires, is settled whole.
TEST(RedisCluster, SettlesTheLastReservationWholeWhileTheSlotMoves) {
  ClusterServers cluster;
  ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::seconds(20), .clock = &clock});
  const std::string ends[] = {"commit", "expiry", "a new one after expiry"};
  for (const std::string& end : ends) {
    SCOPED_TRACE(end);
    const std::string model = ModelOn(cluster, 0, static_cast<int>(&end - ends));
    const std::vector<TierCharge> tiers = {{.key = "user:alice", .limit = {.amount = 100, .per = kMinute}}};
    const Charge hold{.model = model,
                      .mode = Charge::Mode::kHold,
                      .tokens = 10,
                      .tiers = tiers,
                      .hold_for = std::chrono::seconds(20)};
    ASSERT_TRUE(store->SetQuota(model, kWide).ok());
    const ChargeAnswer first = store->Run(hold);  // makes the keys of reservations that have ended
    ASSERT_EQ(store->Run(Settlement{.reservation = first.reservation, .tokens = 3}).code,
              SettlementAnswer::Code::kSettled);
    const ChargeAnswer last = store->Run(hold);
    ASSERT_TRUE(last.fits());
    const int slot = cluster.SlotOf(model);
    cluster.BeginMove(slot, 1);
    int64_t requests = 2, tokens = 6, open = 0;
    std::jthread asks;
    if (end == "commit") {
      EXPECT_EQ(store->Run(Settlement{.reservation = last.reservation, .tokens = 3}).code,
                SettlementAnswer::Code::kSettled);
    } else {
      clock.Advance(std::chrono::seconds(30));
      --requests, tokens -= 3;
      if (end == "expiry") {
        EXPECT_EQ(PeekAt(*store, model).usage.open_reservations, 0);
      } else {  // its keys are gone, so it is counted only once the slot has moved
        const int64_t refused = Errors(cluster.node(0), "TRYAGAIN");
        asks = std::jthread([&] { EXPECT_TRUE(store->Run(hold).fits()); });
        EXPECT_TRUE(Eventually([&] { return Errors(cluster.node(0), "TRYAGAIN") > refused; }));
        ++requests, tokens += 10, ++open;
      }
    }
    cluster.MoveKeys(slot, 1);
    cluster.EndMove(slot, 1);
    if (asks.joinable()) asks.join();
    const ChargeAnswer now = store->Run({.model = model, .requests = 0, .tiers = tiers});
    EXPECT_EQ(now.usage.rpm, requests);
    EXPECT_EQ(now.usage.tpm, tokens);
    EXPECT_EQ(now.usage.open_reservations, open);
    ASSERT_EQ(now.tiers.size(), 1);
    EXPECT_EQ(now.tiers[0].used, requests);
    cluster.Move(slot, 0);
  }
}

// A key that does not exist yet, in a slot that is moving: it must not be created until its place is known.
TEST(RedisCluster, WaitsForASlotThatIsOnItsWayAtMostUntilTheDeadline) {
  ClusterServers cluster;
  const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::milliseconds(300)});
  const std::string model = ModelOn(cluster, 0);
  ASSERT_TRUE(Eventually([&] { return TakeOne(*store, model, kWide).fits(); }));
  const int slot = cluster.SlotOf(model);
  cluster.BeginMove(slot, 1);
  cluster.MoveKeys(slot, 1);
  const ChargeAnswer answer = TakeOne(*store, model, kWide);
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  cluster.EndMove(slot, 1);
  EXPECT_TRUE(Eventually([&] { return TakeOne(*store, model, kWide).fits(); }));
}

TEST(RedisCluster, FollowsSlotsToANodeThatItHasNeverHeardOf) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), clock);
  const std::string model = ModelOn(cluster, 0);
  ASSERT_TRUE(TakeOne(*store, model, kWide).fits());
  const size_t added = cluster.AddNode();
  cluster.Move(cluster.SlotOf(model), added);
  EXPECT_EQ(TakeOne(*store, model, kWide).usage.rpm, 2);
  EXPECT_FALSE(cluster.Keys(added).empty());
  const Result<std::vector<std::string>> models = store->Models();
  ASSERT_TRUE(models.ok()) << models.status().message();
  EXPECT_EQ(models.value(), std::vector<std::string>{model});
}

// Calls to one node go on while another node does not answer.
TEST(RedisCluster, WithoutOneMasterOnlyItsModelsHaveNoAnswer) {
  for (const bool pause : {false, true}) {
    SCOPED_TRACE(pause ? "paused" : "killed");
    ClusterServers cluster;
    const ManualWallClock clock(kNow);
    const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::seconds(2), .clock = &clock});
    const std::string lost = ModelOn(cluster, 1);
    const std::vector<std::string> others = {ModelOn(cluster, 0), ModelOn(cluster, 2)};
    for (const std::string& model : others) {
      ASSERT_TRUE(Eventually([&] { return TakeOne(*store, model, kWide).fits(); }));
    }
    ASSERT_TRUE(Eventually([&] { return TakeOne(*store, lost, kWide).fits(); }));
    const int64_t before = PeekAt(*store, others[0]).usage.rpm;
    Deciders deciders(*store, lost, kWide, 2);
    if (pause) {
      cluster.node(1).Pause();
    } else {
      cluster.node(1).Kill();
    }
    ASSERT_TRUE(Eventually([&] { return deciders.away() > 10; }));
    EXPECT_NE(deciders.problem().find(std::to_string(cluster.node(1).port())), std::string::npos) << deciders.problem();
    for (int i = 0; i < 100; ++i) {
      for (const std::string& model : others) {
        const ChargeAnswer answer = TakeOne(*store, model, kWide);
        ASSERT_TRUE(answer.fits()) << answer.problem;
      }
    }
    EXPECT_EQ(PeekAt(*store, others[0]).usage.rpm, before + 100);
    EXPECT_NE(store->Health().breaker, StoreHealth::Breaker::kClosed);  // half open during a probe
    if (pause) {
      cluster.node(1).Resume();
    } else {
      cluster.node(1).Start();
    }
    EXPECT_TRUE(deciders.GoOn()) << deciders.problem();
  }
}

// The full node's problem is not forgotten because the others answer.
TEST(RedisCluster, AMasterWithoutMemoryIsSaidUntilItTakesWritesAgain) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::seconds(20),
                                               .retry_first = std::chrono::milliseconds(10),
                                               .retry_longest = std::chrono::milliseconds(50),
                                               .clock = &clock});
  RedisProcess& full = cluster.node(1);
  const std::string lost = ModelOn(cluster, 1);
  const std::string other = ModelOn(cluster, 2);
  ASSERT_TRUE(TakeOne(*store, lost, kWide).fits());
  ASSERT_TRUE(full.Command({"CONFIG", "SET", "maxmemory", "1"}).ok());
  EXPECT_EQ(TakeOne(*store, lost, kWide).code, QuotaCode::kStoreUnavailable);
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(TakeOne(*store, other, kWide).fits());
    const StoreHealth health = store->Health();
    EXPECT_NE(health.breaker, StoreHealth::Breaker::kClosed);
    EXPECT_NE(health.problem.find(full.address()), std::string::npos) << health.problem;
    return HasFailure() || Errors(full, "OOM") > 5;
  }));
  ASSERT_TRUE(full.Command({"CONFIG", "SET", "maxmemory", "0"}).ok());
  EXPECT_TRUE(Eventually([&] {
    const StoreHealth health = store->Health();
    return health.problem.empty() && health.breaker == StoreHealth::Breaker::kClosed;
  }));
  EXPECT_EQ(TakeOne(*store, lost, kWide).usage.rpm, 2);
}

TEST(RedisCluster, GivesBackTakesThatAMasterMadeTooLate) {
  ClusterServers cluster;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::milliseconds(200), .clock = &clock});
  const auto other = OpenRedis(cluster.url(), clock);
  const std::string model = ModelOn(cluster, 1);
  Deciders deciders(*store, model, kWide);
  ASSERT_TRUE(deciders.GoOn());
  const int64_t away = deciders.away();
  cluster.node(1).Pause();
  const bool felt = Eventually([&] { return deciders.away() > away; });
  cluster.node(1).Resume();
  EXPECT_TRUE(felt && deciders.GoOn());
  deciders.Stop();
  EXPECT_TRUE(Eventually([&] { return PeekAt(*other, model).usage.rpm == deciders.taken(); }))
      << PeekAt(*other, model).usage.rpm << " counted, " << deciders.taken() << " taken";
}

TEST(RedisCluster, GoesOnAtTheReplicaThatTakesOver) {
  ClusterServers cluster;
  const size_t replica = cluster.AddNode();
  cluster.MakeReplica(replica, 1);
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(cluster.url(), clock);
  const std::string model = ModelOn(cluster, 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(TakeOne(*store, model, kWide).fits());
  ASSERT_TRUE(Eventually([&] {
    return cluster.node(replica).Info("replication", "slave_repl_offset") ==
           cluster.node(1).Info("replication", "master_repl_offset");
  }));
  cluster.node(1).Kill();
  ChargeAnswer answer;
  ASSERT_TRUE(Eventually([&] {
    answer = TakeOne(*store, model, kWide);
    return answer.fits();
  })) << answer.problem;
  EXPECT_EQ(answer.usage.rpm, 11);
  EXPECT_FALSE(cluster.Keys(replica).empty());
}

TEST(RedisCluster, WithOneShardLostTheOthersDecideAndAreListed) {
  using Decides = StoreHealth::Decides;
  ClusterServers cluster;
  const auto store = OpenRedis(cluster.url());
  const std::string there = ModelOn(cluster, 0);
  const std::string lost = ModelOn(cluster, 2);
  for (const std::string& model : {there, lost}) ASSERT_TRUE(TakeOne(*store, model, kWide).fits());
  EXPECT_EQ(store->Health().decides, Decides::kAll);
  for (const char* setting : {"cluster-require-full-coverage", "cluster-allow-reads-when-down"}) {
    const std::string value = setting == std::string("cluster-require-full-coverage") ? "no" : "yes";
    for (size_t i = 0; i < cluster.size(); ++i) cluster.node(i).Command({"CONFIG", "SET", setting, value});
  }
  cluster.node(2).Kill();
  EXPECT_TRUE(Eventually([&] { return store->Health().decides == Decides::kSome; }));
  EXPECT_TRUE(Eventually([&] { return TakeOne(*store, there, kWide).fits(); }));
  const Result<ModelList> list = store->ListModels();
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list.value().models, std::vector<std::string>{there});
  EXPECT_NE(list.value().missing, "");
  EXPECT_FALSE(store->Models().ok()) << "whoever needs all of them is told";
}

TEST(RedisCluster, BeginsWithAnyOfTheNodesThatTheUrlNames) {
  ClusterServers cluster;
  cluster.node(0).Kill();
  const auto store = OpenRedis(cluster.url());
  const ChargeAnswer answer = TakeOne(*store, ModelOn(cluster, 1), kWide);
  EXPECT_TRUE(answer.fits()) << answer.problem;
}

TEST(RedisCluster, ComesLaterThanTheStore) {
  ClusterServers cluster;
  const std::string model = ModelOn(cluster, 2);
  for (size_t i = 0; i < cluster.size(); ++i) cluster.node(i).Stop();
  const auto store = OpenRedis(cluster.url());
  const ChargeAnswer answer = TakeOne(*store, model, kWide);
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(answer.problem.find("no node of the cluster"), std::string::npos) << answer.problem;
  EXPECT_FALSE(store->Models().ok());
  for (size_t i = 0; i < cluster.size(); ++i) cluster.node(i).Start();
  EXPECT_TRUE(Eventually([&] { return TakeOne(*store, model, kWide).fits(); }));
}

TEST(RedisCluster, ReportsAServerThatIsNotInACluster) {
  RedisProcess server;
  const auto store = OpenRedis("redis-cluster://" + server.address());
  const ChargeAnswer answer = TakeOne(*store, "a", kWide);
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(answer.problem.find("cluster support disabled"), std::string::npos) << answer.problem;
}

TEST(RedisCluster, SpeaksTlsAndLogsInToAllNodes) {
  ClusterServers cluster({.password = "secret", .tls = true});
  const auto store = OpenRedis(cluster.url(), {.timeout = std::chrono::seconds(20), .ca_file = cluster.ca_file()});
  for (size_t node = 0; node < cluster.size(); ++node) {
    const ChargeAnswer answer = TakeOne(*store, ModelOn(cluster, node), kWide);
    EXPECT_TRUE(answer.fits()) << answer.problem;
    EXPECT_FALSE(cluster.Keys(node).empty());
  }
}

}  // namespace
}  // namespace weir
