// Promises of this store alone: many decisions at once, keys that expire by themselves.
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/hammer_checks.h"
#include "tests/throttle/limits/quota/redis/deciders.h"

namespace weir {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'771'597'921)};
const std::string kModel = "gpt-4o";
constexpr ModelQuota kWide{.max_rpm = 1'000'000};

TEST(RedisStore, ManyThatAskAtOnceAreAnsweredOnceEach) {
  RedisProcess server;
  const ManualWallClock clock(kNow);
  const auto store = OpenRedis(server.url(), clock);
  constexpr int kAsked = 2000;
  std::atomic<int> fits{0};
  std::latch answered(kAsked);
  for (int i = 0; i < kAsked; ++i) {
    store->Submit({.model = kModel, .mode = Charge::Mode::kTake, .default_quota = ModelQuota{.max_rpm = 500}},
                  [&](const ChargeAnswer& answer) {
                    if (answer.fits()) ++fits;
                    answered.count_down();
                  });
  }
  answered.wait();
  EXPECT_EQ(fits, 500);
}

TEST(RedisStore, AnswersPendingCallsWhenItIsClosed) {
  RedisProcess server;
  std::latch answered(3);
  {
    const auto store = OpenRedis(server.url());
    ASSERT_TRUE(TakeOne(*store, kModel, kWide).fits());
    server.Pause();
    for (int i = 0; i < 3; ++i) {
      store->Submit({.model = kModel}, [&](const ChargeAnswer& answer) {
        EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
        answered.count_down();
      });
    }
  }
  EXPECT_TRUE(answered.try_wait());
  server.Resume();
}

TEST(RedisStore, ShowsItsCertificateToAServerThatAsksForOne) {
  RedisProcess server({.tls = true, .asks_for_certificate = true});
  const auto without = OpenRedis(server.url(), {.ca_file = server.ca_file()});
  EXPECT_EQ(TakeOne(*without, kModel, kWide).code, QuotaCode::kStoreUnavailable);
  const auto with = OpenRedis(server.url(), {.timeout = std::chrono::seconds(20),
                                             .ca_file = server.ca_file(),
                                             .cert_file = server.client_cert_file(),
                                             .key_file = server.client_key_file()});
  const ChargeAnswer answer = TakeOne(*with, kModel, kWide);
  EXPECT_TRUE(answer.fits()) << answer.problem;
}

TEST(RedisStore, ReportsTheProblemOfItsCertificate) {
  RedisProcess server({.tls = true});
  const auto problem = [&](const std::string& certificate, const std::string& key) {
    const auto store = OpenRedis(server.url(), {.cert_file = certificate, .key_file = key, .verify = false});
    return TakeOne(*store, kModel, kWide).problem;
  };
  const std::string certificate = server.client_cert_file();
  const std::string key = server.client_key_file();
  EXPECT_NE(problem(certificate, "").find("has no key: name that too"), std::string::npos);
  EXPECT_NE(problem("", key).find("has no certificate: name that too"), std::string::npos);
  EXPECT_NE(problem("/nowhere", key).find("certificate /nowhere: "), std::string::npos);
  const std::string others = problem(certificate, server.ca_file());
  EXPECT_NE(others.find("of the key of " + certificate), std::string::npos) << others;
}

TEST(RedisStore, AllKeysButThoseOfQuotasExpire) {
  RedisProcess server;
  const auto store = OpenRedis(server.url());
  ASSERT_TRUE(store->SetQuota(kModel, kWide).ok());
  const Limit limit{.amount = 5, .per = std::chrono::hours(1)};
  const std::vector<TierCharge> tiers{{.key = "user:alice", .limit = limit}};
  ASSERT_TRUE(store
                  ->Run({.model = kModel,
                         .mode = Charge::Mode::kHold,
                         .tokens = 1,
                         .tiers = tiers,
                         .hold_for = std::chrono::seconds(10)})
                  .fits());
  const std::vector<std::string> keys = server.Command({"KEYS", "*"}).texts();
  EXPECT_EQ(keys.size(), 7);
  for (const std::string& key : keys) {
    const int64_t ttl = server.Command({"TTL", key}).integer;
    EXPECT_EQ(key.ends_with(":q") || key == "weir:models", ttl == -1) << key << " " << ttl;
  }
}

TEST(RedisStore, TwoPrefixesAreTwoStores) {
  RedisProcess server;
  const auto one = OpenRedis(server.url(), {.prefix = "one", .timeout = std::chrono::seconds(20)});
  const auto two = OpenRedis(server.url(), {.prefix = "t*o", .timeout = std::chrono::seconds(20)});
  ASSERT_TRUE(TakeOne(*one, "a", kWide).fits());
  ASSERT_TRUE(TakeOne(*two, "b", kWide).fits());
  EXPECT_EQ(two->Models().value(), std::vector<std::string>{"b"});
  ASSERT_TRUE(two->Reset("").ok());
  EXPECT_EQ(two->Models().value(), std::vector<std::string>());
  EXPECT_EQ(one->Models().value(), std::vector<std::string>{"a"});
}

TEST(RedisStore, EightProcessesNeverTakeMoreThanTheLimit) {
  RedisProcess server;
  constexpr int64_t kLimit = 5000;
  const HammerSum sum = HammerTakes(server.url(), kHammerProcesses, kLimit);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(sum.tokens, kLimit);
  EXPECT_EQ(HammeredTokens(*OpenRedis(server.url())), kLimit);
}

TEST(RedisStore, EightProcessesLoseNoCount) {
  RedisProcess server;
  constexpr int64_t kTimes = 500;
  const HammerSum sum = HammerRecords(server.url(), kHammerProcesses, kTimes);
  EXPECT_EQ(sum.failed, 0);
  EXPECT_EQ(HammeredTokens(*OpenRedis(server.url())), 3 * kTimes * static_cast<int64_t>(kHammerProcesses));
}

TEST(RedisStore, EightProcessesSettleTheirReservations) {
  RedisProcess server;
  const HammerSum sum = HammerReservations(server.url(), kHammerProcesses, 200);
  EXPECT_EQ(sum.failed, 0);
  ModelUsage usage;
  EXPECT_EQ(HammeredTokens(*OpenRedis(server.url()), &usage), sum.tokens);
  EXPECT_EQ(usage.open_reservations, 0);
}

TEST(RedisStore, NoWindowThatSlidesHasMoreThanItsLimit) {
  RedisProcess server;
  CheckThatNoWindowHasMoreThanItsLimit(server.url());
}

TEST(RedisStore, ReservationsOfAKilledProcessEndAtTheirDeadline) {
  RedisProcess server;
  CheckThatKilledHoldersGiveBack(server.url(),
                                 [&server](const WallClock& clock) { return OpenRedis(server.url(), clock); });
}

TEST(RedisStore, ADecisionIsOneCommandThatIsReadAtOnce) {
  RedisProcess server;
  const auto store = OpenRedis(server.url());
  ASSERT_TRUE(TakeOne(*store, kModel, kWide).fits());
  const Limit limit{.amount = 1'000'000, .per = std::chrono::hours(1)};
  const std::vector<TierCharge> tiers{{.key = "user:alice", .limit = limit}, {.key = "all", .limit = limit}};
  ASSERT_TRUE(server.Command({"CONFIG", "RESETSTAT"}).ok());
  constexpr int kRounds = 20;
  for (int i = 0; i < kRounds; ++i) {
    PeekAt(*store, kModel);
    const ChargeAnswer held = store->Run({.model = kModel,
                                          .mode = Charge::Mode::kHold,
                                          .tokens = 10,
                                          .tiers = tiers,
                                          .hold_for = std::chrono::hours(1)});
    ASSERT_TRUE(held.fits()) << held.problem;
    ASSERT_EQ(store->Run(Settlement{.reservation = held.reservation, .tokens = 3}).code,
              SettlementAnswer::Code::kSettled);
  }
  EXPECT_EQ(server.Info("stats", "total_reads_processed"), std::to_string(3 * kRounds + 1));  // and this INFO
  const std::string calls = server.Info("commandstats", "cmdstat_evalsha");
  EXPECT_TRUE(calls.starts_with("calls=" + std::to_string(3 * kRounds) + ",")) << calls;
}

}  // namespace
}  // namespace weir
