// Sentinels promote another master: decisions go on there, with the data that was replicated.
#include <gtest/gtest.h>

#include <string>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/sentinel_group.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
constexpr ModelQuota kWide{.max_rpm = 1'000'000};
const std::string kModel = "gpt-4o";

// Uses a short timeout: calls without an answer show that a master is paused.
RedisStoreOptions Impatient(const WallClock* clock = nullptr) {
  return {.timeout = std::chrono::seconds(1), .clock = clock};
}

TEST(RedisFailover, GoesOnAtTheNewMasterWithTheReplicatedCounts) {
  SentinelGroup group({.password = "secret"});
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(group.url(), Impatient(&clock));
  const ModelQuota quota{.max_rpm = 500, .max_rpd = 10'000};
  {
    const auto patient = OpenRedis(group.url(), clock);
    ASSERT_TRUE(patient->SetQuota(kModel, quota).ok());
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(TakeOne(*patient, kModel, kWide).fits());
  }
  ASSERT_TRUE(Eventually([&] { return PeekAt(*store, kModel).usage.rpm == 200; }));
  ASSERT_TRUE(group.Replicated());
  RedisProcess& first = *group.servers()[0];
  first.Kill();

  Deciders deciders(*store, kModel, kWide);
  ASSERT_TRUE(group.FailsOverFrom(first.port()));
  ASSERT_TRUE(deciders.GoOn(400)) << deciders.problem();
  deciders.Stop();
  EXPECT_GT(deciders.away(), 0);
  // An attempt that got no answer may have been counted.
  EXPECT_LE(deciders.taken(), 300);
  EXPECT_GE(deciders.taken() + deciders.away(), 300);
  const auto patient = OpenRedis(group.url(), clock);
  const ChargeAnswer now = PeekAt(*patient, kModel);
  EXPECT_EQ(now.quota, quota);
  EXPECT_EQ(now.usage.rpm, quota.max_rpm);
  EXPECT_EQ(now.usage.rpd, quota.max_rpm);
  EXPECT_GT(store->Health().reconnects, 0u);

  // The old master comes back as a replica of the new one, and stays one.
  first.Start();
  ASSERT_TRUE(Eventually([&] { return first.Info("replication", "role") == "slave"; }));
  ASSERT_TRUE(group.Replicated());
  EXPECT_EQ(PeekAt(*patient, kModel).usage.rpm, quota.max_rpm);
}

TEST(RedisFailover, IsFollowedWhileThreadsDecide) {
  SentinelGroup group({.replicas = 2});
  const auto store = OpenRedis(group.url(), Impatient());
  Deciders deciders(*store, kModel, kWide);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(deciders.GoOn()) << deciders.problem();
    const uint16_t before = group.MasterPort();
    group.Server(before).Kill();
    ASSERT_TRUE(group.FailsOverFrom(before));
    ASSERT_TRUE(deciders.GoOn(100)) << deciders.problem();
    group.Server(before).Start();
    ASSERT_TRUE(Eventually([&] { return group.Server(before).Info("replication", "role") == "slave"; }));
    ASSERT_TRUE(group.Replicated());
  }
}

// A paused master answers nothing and closes nothing.
TEST(RedisFailover, IsFollowedWhenTheMasterIsOnlyStuck) {
  SentinelGroup group;
  const auto store = OpenRedis(group.url(), Impatient());
  Deciders deciders(*store, kModel, kWide);
  ASSERT_TRUE(deciders.GoOn()) << deciders.problem();
  RedisProcess& first = *group.servers()[0];
  first.Pause();
  ASSERT_TRUE(Eventually([&] {
    const uint16_t now = group.MasterPort();
    return now != 0 && now != first.port();
  }));
  ASSERT_TRUE(deciders.GoOn()) << deciders.problem();
  // The resumed server believes that it is the master until the sentinels tell it; decisions stay at the new one.
  first.Resume();
  ASSERT_TRUE(Eventually([&] { return first.Info("replication", "role") == "slave"; }));
  ASSERT_TRUE(deciders.GoOn()) << deciders.problem();
}

// The old master lives on and answers READONLY.
TEST(RedisFailover, IsFollowedWhenItWasPlanned) {
  SentinelGroup group;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(group.url(), Impatient(&clock));
  ASSERT_TRUE(Eventually([&] { return TakeOne(*store, kModel, kWide).fits(); }));
  ASSERT_TRUE(group.Replicated());
  const auto patient = OpenRedis(group.url(), clock);
  const int64_t before = PeekAt(*patient, kModel).usage.rpm;
  ASSERT_TRUE(group.FailOverFrom(group.servers()[0]->port()));
  ASSERT_TRUE(Eventually([&] { return group.servers()[0]->Info("replication", "role") == "slave"; }));
  ASSERT_TRUE(Eventually([&] { return TakeOne(*store, kModel, kWide).fits(); }));
  EXPECT_GT(PeekAt(*patient, kModel).usage.rpm, before);
}

// The store keeps its connection when the server becomes a replica, and the sentinels are slow to name the new master.
TEST(RedisFailover, ACallToAReplicaWaitsForTheMaster) {
  SentinelGroup group;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(group.url(), {.timeout = std::chrono::seconds(60), .clock = &clock});
  ASSERT_TRUE(TakeOne(*store, kModel, kWide).fits());
  ASSERT_TRUE(group.Replicated());
  RedisProcess& first = *group.servers()[0];
  RedisProcess& second = *group.servers()[1];
  for (auto& sentinel : group.sentinels()) {
    sentinel->Command({"SENTINEL", "REMOVE", SentinelGroup::kName});
    sentinel->Command({"SENTINEL", "MONITOR", SentinelGroup::kName, "127.0.0.1", std::to_string(second.port()), "2"});
    sentinel->Pause();
  }
  ASSERT_TRUE(second.Command({"REPLICAOF", "NO", "ONE"}).ok());
  ASSERT_TRUE(first.Command({"REPLICAOF", "127.0.0.1", std::to_string(second.port())}).ok());
  ChargeAnswer answer;
  std::jthread caller([&] { answer = TakeOne(*store, kModel, kWide); });
  EXPECT_TRUE(Eventually([&] { return !first.Info("errorstats", "errorstat_READONLY").empty(); }));
  for (auto& sentinel : group.sentinels()) sentinel->Resume();
  caller.join();
  EXPECT_TRUE(answer.fits()) << answer.problem;
  EXPECT_EQ(answer.usage.rpm, 2);
}

TEST(RedisFailover, NeedsNoSentinelWhileTheMasterIsWell) {
  SentinelGroup group;
  const auto store = OpenRedis(group.url(), Impatient());
  Deciders deciders(*store, kModel, kWide);
  ASSERT_TRUE(deciders.GoOn()) << deciders.problem();
  const int64_t away = deciders.away();
  for (auto& sentinel : group.sentinels()) sentinel->Stop();
  ASSERT_TRUE(deciders.GoOn(500));
  EXPECT_EQ(deciders.away(), away) << deciders.problem();
  group.RestartSentinels();
  group.servers()[0]->Kill();
  ASSERT_TRUE(group.FailsOverFrom(group.servers()[0]->port()));
  EXPECT_TRUE(deciders.GoOn()) << deciders.problem();
}

}  // namespace
}  // namespace weir
