// Redis answers after the caller was told that the store is away: whatever it took for that caller is given back.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "tests/fixtures/redis_process.h"
#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/slow_proxy.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using Mode = Charge::Mode;

const std::string kModel = "gpt-4o";
constexpr ModelQuota kWide{.max_rpm = 1'000'000, .max_tpm = 1'000'000'000, .max_rpd = 1'000'000};
constexpr Limit kRequests{.amount = 1'000'000, .per = std::chrono::hours(1)};
constexpr Limit kTokens{.unit = Limit::Unit::kTokens, .amount = 1'000'000'000, .per = std::chrono::hours(24)};
constexpr Limit kBucket{
    .kind = Limit::Kind::kBucket, .amount = 1, .per = std::chrono::hours(24), .burst = 1'000'000'000};
const std::vector<TierCharge> kTiers = {{.key = "user:alice", .limit = kRequests},
                                        {.key = "user:alice", .limit = kTokens},
                                        {.key = "user:alice", .limit = kRequests},  // counted once
                                        {.key = "instance:a", .limit = kBucket},
                                        {.key = "tenant:acme", .limit = kTokens, .of_all_models = true}};

class RedisLateAnswers : public testing::Test {
 protected:
  // Returns a store that soon gives up on a call. The server has answered it.
  std::unique_ptr<RedisQuotaStore> OpenImpatient(const std::string& url) const {
    auto store = OpenRedis(url, {.timeout = milliseconds(200),
                                 .breaker_failures = 3,
                                 .retry_first = milliseconds(10),
                                 .retry_longest = milliseconds(100),
                                 .clock = &clock_});
    EXPECT_TRUE(Eventually([&] { return Answers(*store); }));
    return store;
  }
  static ChargeAnswer Ask(QuotaStore& store, Mode mode, int64_t tokens = 900) {
    return store.Run({.model = kModel,
                      .mode = mode,
                      .tokens = tokens,
                      .tiers = kTiers,
                      .default_quota = kWide,
                      .hold_for = std::chrono::hours(1)});
  }
  static bool Answers(QuotaStore& store) { return Ask(store, Mode::kPeek).fits(); }

  // Returns everything that is counted.
  std::vector<int64_t> Counts() {
    const ChargeAnswer answer = Ask(*other_, Mode::kPeek);
    std::vector<int64_t> counts = {answer.usage.rpm, answer.usage.tpm, answer.usage.rpd};
    for (const TierUsage& tier : answer.tiers) counts.push_back(tier.used);
    return counts;
  }
  int64_t Writes() {
    const std::string calls = server_.Info("commandstats", "cmdstat_setrange");
    return calls.starts_with("calls=") ? std::stoll(calls.substr(6)) : 0;
  }

  // `ask_in_vain` makes a call that the server executes, but answers too late; `recover` lets the server answer again.
  // Expects that what the server took for the call is given back.
  using Step = std::function<void(QuotaStore&)>;
  void ExpectGivenBack(const std::string& url, const Step& ask_in_vain, const Step& recover) {
    const auto store = OpenImpatient(url);
    ASSERT_TRUE(Ask(*other_, Mode::kTake, 7).fits());
    const std::vector<int64_t> counts = Counts();
    const int64_t writes = Writes();
    ask_in_vain(*store);
    recover(*store);
    ASSERT_TRUE(Eventually([&] { return Writes() > writes; }));
    EXPECT_TRUE(Eventually([&] { return Counts() == counts; })) << testing::PrintToString(Counts());
  }

  RedisProcess server_;
  const ManualWallClock clock_{WallTime(std::chrono::seconds(1'771'597'921))};
  const std::unique_ptr<RedisQuotaStore> other_ = OpenRedis(server_.url(), clock_);
};

TEST_F(RedisLateAnswers, ATakeOfAPausedServerIsGivenBack) {
  ExpectGivenBack(
      server_.url(),
      [this](QuotaStore& store) {
        server_.Pause();
        EXPECT_EQ(Ask(store, Mode::kTake).code, QuotaCode::kStoreUnavailable);
      },
      [this](QuotaStore&) { server_.Resume(); });
}

TEST_F(RedisLateAnswers, ATakeOfAGivenUpConnectionIsGivenBack) {
  ExpectGivenBack(
      server_.url(),
      [this](QuotaStore& store) {
        server_.Pause();
        EXPECT_TRUE(Eventually([&] {
          const std::string problem = Ask(store, Mode::kTake).problem;
          return problem.find("it has stopped answering") != std::string::npos ||
                 problem.find("no connection") != std::string::npos;
        }));
      },
      [this](QuotaStore&) { server_.Resume(); });
}

// The give-back is sent on a new connection, before the server reads the old one.
TEST_F(RedisLateAnswers, AReservationMadeAfterItsGiveBackIsGivenBackAgain) {
  SlowProxy proxy(server_.port());
  ExpectGivenBack(
      proxy.url(),
      [&](QuotaStore& store) {
        proxy.Delay(std::chrono::seconds(2));
        EXPECT_EQ(Ask(store, Mode::kHold).code, QuotaCode::kStoreUnavailable);
      },
      [&](QuotaStore& store) {
        proxy.Delay(Duration(0));
        EXPECT_TRUE(Eventually([&] { return store.Health().problem.empty(); }));
      });
}

// The answer to the first give-back is late too, so it is sent again when the server is quick.
TEST_F(RedisLateAnswers, ATakeIsGivenBackOnceHoweverOftenItIsAsked) {
  SlowProxy proxy(server_.port());
  const auto store = OpenImpatient(proxy.url());
  ASSERT_TRUE(Ask(*other_, Mode::kTake, 7).fits());
  const std::vector<int64_t> counts = Counts();
  proxy.Delay(milliseconds(300));
  ASSERT_EQ(Ask(*store, Mode::kTake).code, QuotaCode::kStoreUnavailable);
  ASSERT_TRUE(Eventually([&] { return Counts() != counts; }));
  ASSERT_TRUE(Eventually([&] { return Counts() == counts; }));
  proxy.Delay(Duration(0));
  ASSERT_TRUE(Eventually([&] { return store->Health().problem.empty(); }));
  ASSERT_TRUE(Answers(*store));
  EXPECT_EQ(Counts(), counts);
}

TEST_F(RedisLateAnswers, CountsEqualAdmissionsHoweverOftenTheServerHalts) {
  const auto store = OpenImpatient(server_.url());
  Deciders deciders(*store, kModel, kWide);
  for (int round = 0; round < 3; ++round) {
    for (const auto& halt :
         std::vector<std::vector<std::string>>{{"DEBUG", "SLEEP", "0.4"}, {"CLIENT", "PAUSE", "400"}})
      ASSERT_TRUE(deciders.GoOn() && server_.Command(halt).ok());
    ASSERT_TRUE(deciders.GoOn());
    const int64_t away = deciders.away();
    server_.Pause();
    const bool felt = Eventually([&] { return deciders.away() > away; });
    server_.Resume();
    ASSERT_TRUE(felt && deciders.GoOn());
  }
  deciders.Stop();
  EXPECT_TRUE(Eventually([&] { return PeekAt(*other_, kModel).usage.rpm == deciders.taken(); }))
      << PeekAt(*other_, kModel).usage.rpm << " counted, " << deciders.taken() << " taken";
}

// Recorded usage has happened, so it stays counted even if the caller was not told.
TEST_F(RedisLateAnswers, UnansweredRecordsOfUseStay) {
  const auto store = OpenImpatient(server_.url());
  server_.Pause();
  ASSERT_EQ(Ask(*store, Mode::kForce).code, QuotaCode::kStoreUnavailable);
  server_.Resume();
  ASSERT_TRUE(Eventually([&] { return Answers(*store); }));
  ASSERT_TRUE(Answers(*store));
  EXPECT_EQ(Counts(), (std::vector<int64_t>{1, 900, 1, 1, 900, 1, 1, 900}));
}

}  // namespace
}  // namespace weir
