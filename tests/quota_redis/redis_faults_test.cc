// Redis killed, restarted empty, paused, slow, out of memory, refusing the password, without its scripts.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "config/manual_clock.h"
#include "tests/quota_redis/deciders.h"
#include "tests/quota_redis/redis_process.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
constexpr ModelQuota kQuota{.max_rpm = 10};
const std::string kModel = "gpt-4o";

// Finds out soon that a server is away.
RedisStoreOptions Impatient() {
  return {.timeout = std::chrono::milliseconds(200),
          .breaker_failures = 3,
          .retry_first = std::chrono::milliseconds(10),
          .retry_longest = std::chrono::milliseconds(100)};
}

bool IsAway(QuotaStore& store) { return PeekAt(store, kModel).code == QuotaCode::kStoreUnavailable; }
bool Answers(QuotaStore& store) { return !IsAway(store); }

TEST(RedisFaults, AKilledServerIsAwayAndComesBackEmpty) {
  RedisProcess server;
  const auto store = OpenRedis(server.url(), Impatient());
  ASSERT_TRUE(Eventually([&] { return TakeOne(*store, kModel, kQuota).usage.rpm == 1; }));
  server.Kill();
  ASSERT_TRUE(Eventually([&] { return store->Health().breaker != StoreHealth::Breaker::kClosed; }));
  const ChargeAnswer away = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(away.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(away.problem.find(server.address()), std::string::npos) << away.problem;
  EXPECT_EQ(store->Health().problem, away.problem);
  server.Start();
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  const ChargeAnswer anew = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(anew.code, QuotaCode::kOk);
  EXPECT_EQ(anew.usage.rpm, 1);
  const StoreHealth health = store->Health();
  EXPECT_EQ(health.breaker, StoreHealth::Breaker::kClosed);
  EXPECT_EQ(health.problem, "");
  EXPECT_GE(health.reconnects, 1);
  EXPECT_GE(health.failures, 1);
}

TEST(RedisFaults, ScriptsThatTheServerHasLostAreLoadedAgain) {
  RedisProcess server;
  const auto store = OpenRedis(server.url());
  ASSERT_TRUE(TakeOne(*store, kModel, kQuota).fits());
  ASSERT_TRUE(server.Command({"SCRIPT", "FLUSH"}).ok());
  Deciders deciders(*store, kModel, {.max_rpm = 1'000'000});
  ASSERT_TRUE(deciders.GoOn(100));
  deciders.Stop();
  EXPECT_EQ(deciders.away(), 0) << deciders.problem();
  EXPECT_EQ(PeekAt(*store, kModel).usage.rpm, deciders.taken() + 1);
}

TEST(RedisFaults, APausedServerOpensTheBreakerAndClosesItWhenItGoesOn) {
  RedisProcess server;
  const auto store = OpenRedis(server.url(), Impatient());
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  server.Pause();
  ASSERT_TRUE(Eventually([&] {
    TakeOne(*store, kModel, kQuota);
    return store->Health().breaker != StoreHealth::Breaker::kClosed;
  }));
  server.Resume();
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  EXPECT_TRUE(Eventually([&] { return store->Health().breaker == StoreHealth::Breaker::kClosed; }));
}

TEST(RedisFaults, AServerThatIsSlowBy2SecondsIsAwayAsLong) {
  RedisProcess server;
  const auto store = OpenRedis(server.url(), Impatient());
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  RedisClient sleeper(server.port());
  std::thread sleeping([&] { sleeper.Command({"DEBUG", "SLEEP", "2"}); });
  EXPECT_TRUE(Eventually([&] { return IsAway(*store); }));
  sleeping.join();
  EXPECT_TRUE(Eventually([&] { return Answers(*store); }));
}

TEST(RedisFaults, AServerWithoutMemorySaysSoAndChargesNothing) {
  RedisProcess server;
  const auto store = OpenRedis(server.url());
  ASSERT_TRUE(TakeOne(*store, kModel, kQuota).fits());
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "1"}).ok());
  const ChargeAnswer full = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(full.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(full.problem.find("maxmemory"), std::string::npos) << full.problem;
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "0"}).ok());
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  EXPECT_EQ(PeekAt(*store, kModel).usage.rpm, 1);
}

TEST(RedisFaults, AServerThatRefusesThePasswordIsNamedWithoutIt) {
  RedisProcess server({.password = "secret"});
  for (const std::string login : {"", ":guessed@", "nobody:guessed@"}) {
    const auto store = OpenRedis("redis://" + login + server.address());
    const ChargeAnswer refused = TakeOne(*store, kModel, kQuota);
    EXPECT_EQ(refused.code, QuotaCode::kStoreUnavailable);
    EXPECT_NE(refused.problem.find("password"), std::string::npos) << refused.problem;
    EXPECT_EQ((refused.problem + store->name()).find("guessed"), std::string::npos);
    EXPECT_FALSE(store->Models().ok());
    EXPECT_FALSE(store->SetQuota(kModel, kQuota).ok());
  }
}

TEST(RedisFaults, ACertificateThatNobodyVouchesForIsRefused) {
  RedisProcess server({.tls = true});
  const auto stranger = OpenRedis(server.url());
  EXPECT_NE(PeekAt(*stranger, kModel).problem.find("certificate is not accepted"), std::string::npos);
  const auto careless = OpenRedis(server.url(), {.timeout = std::chrono::seconds(20), .verify = false});
  EXPECT_TRUE(Answers(*careless));
  const auto lost = OpenRedis(server.url(), {.ca_file = "no-such-file"});
  EXPECT_NE(PeekAt(*lost, kModel).problem.find("no-such-file"), std::string::npos);
}

TEST(RedisFaults, WhoDiesBetweenReserveAndCommitGivesBackAtTheDeadline) {
  RedisProcess server;
  ManualWallClock clock(kNow);
  const RedisStoreOptions options{.timeout = std::chrono::seconds(20), .clock = &clock};
  const auto survivor = OpenRedis(server.url(), options);
  {
    const auto dies = OpenRedis(server.url(), options);
    const Charge hold{.model = kModel,
                      .mode = Charge::Mode::kHold,
                      .tokens = 900,
                      .default_quota = ModelQuota{.max_tpm = 1000},
                      .hold_for = std::chrono::seconds(10)};
    ASSERT_TRUE(dies->Run(hold).fits());
  }
  EXPECT_EQ(PeekAt(*survivor, kModel).usage.tpm, 900);
  clock.Advance(std::chrono::seconds(10) - std::chrono::microseconds(1));
  EXPECT_EQ(PeekAt(*survivor, kModel).usage.tpm, 900);
  clock.Advance(std::chrono::microseconds(1));
  EXPECT_EQ(PeekAt(*survivor, kModel).usage, ModelUsage());
  EXPECT_EQ(survivor->Health().expired_reservations, 1);
}

}  // namespace
}  // namespace weir
