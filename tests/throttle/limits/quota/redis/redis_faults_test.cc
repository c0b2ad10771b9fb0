// Redis killed, restarted empty, paused, slow, out of memory, refusing the password, or without its scripts.
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/slow_proxy.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
constexpr ModelQuota kQuota{.max_rpm = 10};
const std::string kModel = "gpt-4o";

// Notices soon that a server is away.
RedisStoreOptions Impatient(const WallClock* clock = nullptr) {
  return {.timeout = std::chrono::milliseconds(200),
          .breaker_failures = 3,
          .retry_first = std::chrono::milliseconds(10),
          .retry_longest = std::chrono::milliseconds(100),
          .clock = clock};
}

bool IsAway(QuotaStore& store) { return PeekAt(store, kModel).code == QuotaCode::kStoreUnavailable; }
bool Answers(QuotaStore& store) { return !IsAway(store); }

// Returns an impatient store that the server has answered.
std::unique_ptr<RedisQuotaStore> OpenAnswered(const std::string& url, const WallClock* clock = nullptr) {
  auto store = OpenRedis(url, Impatient(clock));
  EXPECT_TRUE(Eventually([&] { return Answers(*store); }));
  return store;
}

Charge HoldFor(Duration time) {
  return {.model = kModel,
          .mode = Charge::Mode::kHold,
          .tokens = 900,
          .default_quota = ModelQuota{.max_tpm = 1'000'000},
          .hold_for = time};
}

TEST(RedisFaults, AKilledServerIsAwayAndComesBackEmpty) {
  RedisProcess server;
  const auto store = OpenRedis(server.url(), Impatient());
  ASSERT_TRUE(Eventually([&] { return TakeOne(*store, kModel, kQuota).fits(); }));
  server.Kill();
  ASSERT_TRUE(Eventually([&] { return store->Health().breaker != StoreHealth::Breaker::kClosed; }));
  const ChargeAnswer away = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(away.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(away.problem.find(server.address()), std::string::npos) << away.problem;
  EXPECT_EQ(store->Health().problem, away.problem);
  server.Start();
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  const auto patient = OpenRedis(server.url());
  EXPECT_EQ(PeekAt(*patient, kModel).usage, ModelUsage());
  EXPECT_EQ(TakeOne(*patient, kModel, kQuota).usage.rpm, 1);
  ASSERT_TRUE(Eventually([&] {
    const StoreHealth health = store->Health();
    return health.breaker == StoreHealth::Breaker::kClosed && health.problem.empty();
  }));
  const StoreHealth health = store->Health();
  EXPECT_GE(health.reconnects, 1);
  EXPECT_GE(health.failures, 1);
}

// The health recovers without any call, for callers that wait for it before they ask.
TEST(RedisFaults, AServerThatIsBackIsWellBeforeTheNextCall) {
  RedisProcess server;
  const auto store = OpenAnswered(server.url());
  for (const bool pause : {false, true}) {
    SCOPED_TRACE(pause ? "paused" : "killed");
    ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
    const uint64_t reconnects = store->Health().reconnects;
    pause ? server.Pause() : server.Kill();
    ASSERT_TRUE(Eventually([&] { return IsAway(*store); }));
    EXPECT_NE(store->Health().problem, "");
    pause ? server.Resume() : server.Start();
    EXPECT_TRUE(Eventually([&] { return store->Health().problem.empty(); }));
    EXPECT_TRUE(Eventually([&] { return store->Health().breaker == StoreHealth::Breaker::kClosed; }));
    if (!pause) {
      EXPECT_GT(store->Health().reconnects, reconnects);
    }
  }
}

TEST(RedisFaults, AServerThatComesAfterTheStoreCountsAsBack) {
  RedisProcess server;
  server.Stop();
  const auto store = OpenRedis(server.url(), Impatient());
  EXPECT_FALSE(store->SetQuota(kModel, kQuota).ok());
  EXPECT_NE(store->Health().problem, "");
  const uint64_t reconnects = store->Health().reconnects;
  server.Start();
  EXPECT_TRUE(Eventually([&] { return store->Health().reconnects > reconnects; }));
  EXPECT_TRUE(Eventually([&] { return store->Health().problem.empty(); }));
}

TEST(RedisFaults, AnUnansweredReservationIsGivenBack) {
  RedisProcess server;
  const ManualWallClock clock(kNow);
  const auto store = OpenAnswered(server.url(), &clock);
  const auto other = OpenRedis(server.url(), clock);
  server.Pause();
  const ChargeAnswer unanswered = store->Run(HoldFor(std::chrono::hours(1)));
  ASSERT_EQ(unanswered.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(unanswered.reservation, "");
  server.Resume();
  // The number of calls shows that it was executed.
  EXPECT_TRUE(Eventually([&] { return server.Info("commandstats", "cmdstat_hdel").starts_with("calls=1,"); }));
  EXPECT_TRUE(Eventually([&] { return PeekAt(*other, kModel).usage == ModelUsage(); }));
}

TEST(RedisFaults, AServerThatEvictsIsUsedWithAWarning) {
  RedisProcess evicts({.config = {"maxmemory 100mb", "maxmemory-policy allkeys-lru"}});
  const auto store = OpenRedis(evicts.url());
  ASSERT_TRUE(Answers(*store));
  const StoreHealth health = store->Health();
  EXPECT_EQ(health.problem, "");
  EXPECT_NE(health.warning.find(evicts.address()), std::string::npos) << health.warning;
  EXPECT_NE(health.warning.find("set maxmemory-policy noeviction"), std::string::npos) << health.warning;
  RedisProcess keeps({.config = {"maxmemory 100mb", "maxmemory-policy noeviction"}});
  const auto well = OpenRedis(keeps.url());
  ASSERT_TRUE(Answers(*well));
  EXPECT_EQ(well->Health().warning, "");
}

TEST(RedisFaults, RefusesInvalidQuotas) {
  RedisProcess server;
  const auto store = OpenRedis(server.url());
  const ModelQuota wrong{.max_rpm = -1};
  EXPECT_FALSE(store->SetQuota(kModel, wrong).ok());
  EXPECT_FALSE(store->Import({{"other", {.quota = kQuota}}, {kModel, {.quota = wrong}}}).ok());
  EXPECT_EQ(store->Models().value(), std::vector<std::string>());
}

TEST(RedisFaults, ScriptsThatTheServerHasLostAreLoadedAgain) {
  RedisProcess server;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(server.url(), clock);
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
  const auto store = OpenAnswered(server.url());
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
  const auto store = OpenAnswered(server.url());
  RedisClient sleeper(server.port());
  std::thread sleeping([&] { sleeper.Command({"DEBUG", "SLEEP", "2"}); });
  EXPECT_TRUE(Eventually([&] { return IsAway(*store); }));
  sleeping.join();
  EXPECT_TRUE(Eventually([&] { return Answers(*store); }));
}

// Everything is late in both directions: a request is executed when its caller no longer waits.
TEST(RedisFaults, UnansweredReservationsOfASlowServerAreGivenBackLater) {
  RedisProcess server;
  SlowProxy proxy(server.port());
  const ManualWallClock clock(kNow);
  const auto store = OpenAnswered(proxy.url(), &clock);
  const auto other = OpenRedis(server.url(), clock);
  proxy.Delay(std::chrono::seconds(2));
  constexpr int kHolds = 10;
  std::latch answered(kHolds);
  for (int i = 0; i < kHolds; ++i) {
    store->Submit(HoldFor(std::chrono::hours(1)), [&](const ChargeAnswer& answer) {
      EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
      answered.count_down();
    });
  }
  answered.wait();
  EXPECT_TRUE(Eventually([&] { return PeekAt(*other, kModel).usage.open_reservations == kHolds; }));
  EXPECT_TRUE(IsAway(*store));
  EXPECT_NE(store->Health().problem, "");
  proxy.Delay(Duration(0));
  EXPECT_TRUE(Eventually([&] { return PeekAt(*other, kModel).usage == ModelUsage(); }));
  EXPECT_TRUE(Eventually([&] { return store->Health().problem.empty(); }));
}

TEST(RedisFaults, APasswordThatIsChangedIsSaidWhenTheConnectionIsCut) {
  RedisProcess server({.password = "before"});
  const auto store = OpenAnswered("redis://:before@" + server.address());
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "requirepass", "after"}).ok());
  EXPECT_TRUE(Eventually([&] { return Answers(*store); })) << "the connection stands";
  ASSERT_TRUE(server.Command({"CLIENT", "KILL", "TYPE", "normal"}).ok());
  EXPECT_TRUE(Eventually([&] { return PeekAt(*store, kModel).problem.find("password") != std::string::npos; }));
  EXPECT_EQ(PeekAt(*store, kModel).problem.find("before"), std::string::npos);
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "requirepass", "before"}).ok());
  EXPECT_TRUE(Eventually([&] { return Answers(*store); }));
}

TEST(RedisFaults, AServerWithoutMemorySaysSoAndChargesNothing) {
  RedisProcess server;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(server.url(), clock);
  ASSERT_TRUE(TakeOne(*store, kModel, kQuota).fits());
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "1"}).ok());
  const ChargeAnswer full = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(full.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(full.problem.find("maxmemory"), std::string::npos) << full.problem;
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "0"}).ok());
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  EXPECT_EQ(PeekAt(*store, kModel).usage.rpm, 1);
}

// Each is settled or given back once and as a whole, or not at all.
TEST(RedisFaults, WithoutMemoryAReservationIsSettledWhollyOrNotAtAll) {
  RedisProcess server;
  ManualWallClock clock(kNow);
  const auto store = OpenRedis(server.url(), clock);
  const std::string settled = store->Run(HoldFor(std::chrono::seconds(50))).reservation;
  const std::string expires = store->Run(HoldFor(std::chrono::seconds(10))).reservation;
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "1"}).ok());
  const SettlementAnswer full = store->Run(Settlement{.reservation = settled, .tokens = 100});
  clock.Advance(std::chrono::seconds(10));
  store->Run(Charge{.model = kModel, .requests = 0});
  ASSERT_TRUE(server.Command({"CONFIG", "SET", "maxmemory", "0"}).ok());
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  const SettlementAnswer again = store->Run(Settlement{.reservation = settled, .tokens = 100});
  const bool was_settled = full.code == SettlementAnswer::Code::kSettled;
  EXPECT_EQ(again.code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(again.again, was_settled);
  EXPECT_TRUE(store->Run(Settlement{.reservation = expires}).late);
  const ModelUsage usage = PeekAt(*store, kModel).usage;
  EXPECT_EQ(usage.rpm, 1);
  EXPECT_EQ(usage.tpm, 100);
  EXPECT_EQ(usage.rpd, 1);
  EXPECT_EQ(usage.open_reservations, 0);
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

// This server repeats an unknown command in its error.
TEST(RedisFaults, AServerThatKnowsNoPasswordsIsNotQuoted) {
  RedisProcess server({.config = {"rename-command AUTH \"\""}});
  const auto store = OpenRedis("redis://:hunter2@" + server.address());
  const ChargeAnswer refused = TakeOne(*store, kModel, kQuota);
  EXPECT_EQ(refused.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(refused.problem.find("refuses the user or the password: ERR"), std::string::npos) << refused.problem;
  EXPECT_EQ(refused.problem.find("hunter2"), std::string::npos) << refused.problem;
}

TEST(RedisFaults, AnUntrustedCertificateIsRefused) {
  RedisProcess server({.tls = true});
  const auto stranger = OpenRedis(server.url());
  EXPECT_NE(PeekAt(*stranger, kModel).problem.find("certificate is not accepted"), std::string::npos);
  const auto careless = OpenRedis(server.url(), {.timeout = std::chrono::seconds(20), .verify = false});
  EXPECT_TRUE(Answers(*careless));
  const auto lost = OpenRedis(server.url(), {.ca_file = "no-such-file"});
  EXPECT_NE(PeekAt(*lost, kModel).problem.find("no-such-file"), std::string::npos);
}

TEST(RedisFaults, TheReservationOfADeadProcessEndsAtItsDeadline) {
  RedisProcess server;
  ManualWallClock clock(kNow);
  const auto survivor = OpenRedis(server.url(), clock);
  {
    const auto dies = OpenRedis(server.url(), clock);
    ASSERT_TRUE(dies->Run(HoldFor(std::chrono::seconds(10))).fits());
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
