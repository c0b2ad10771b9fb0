// How RedisQuotaStore finds the master by the sentinels. For a change of the master see redis_failover_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "tests/throttle/limits/quota/redis/deciders.h"
#include "tests/throttle/limits/quota/redis/sentinel_group.h"

namespace weir {
namespace {

constexpr ModelQuota kWide{.max_rpm = 1'000'000};

TEST(RedisSentinel, DecidesOnTheMaster) {
  SentinelGroup group({.password = "secret"});
  const auto store = OpenRedis(group.url());
  const ChargeAnswer answer = TakeOne(*store, "gpt-4o", kWide);
  ASSERT_TRUE(answer.fits()) << answer.problem;
  EXPECT_EQ(store->name().find("secret"), std::string::npos) << store->name();
  ASSERT_TRUE(group.Replicated());
  for (auto& server : group.servers()) EXPECT_FALSE(server->Command({"KEYS", "*"}).items.empty());
  EXPECT_EQ(store->Models().value(), std::vector<std::string>{"gpt-4o"});
}

TEST(RedisSentinel, AsksTheNextIfOneIsGoneOrSilent) {
  SentinelGroup group;
  group.sentinels()[0]->Kill();
  group.sentinels()[1]->Pause();
  const auto store = OpenRedis(group.url(), {.timeout = std::chrono::seconds(2)});
  EXPECT_TRUE(Eventually([&] { return TakeOne(*store, "gpt-4o", kWide).fits(); }));
}

TEST(RedisSentinel, NeedsOnlyOneSentinelInTheUrl) {
  SentinelGroup group;
  const auto store = OpenRedis("redis-sentinel://" + group.sentinels()[0]->address() + "/" + SentinelGroup::kName);
  ASSERT_TRUE(TakeOne(*store, "gpt-4o", kWide).fits());
  // The store has learned of the other sentinels from the first.
  group.sentinels()[0]->Kill();
  group.servers()[0]->Kill();
  EXPECT_TRUE(Eventually([&] { return TakeOne(*store, "gpt-4o", kWide).fits(); }));
}

TEST(RedisSentinel, LogsInToASentinelThatAsksForIt) {
  SentinelGroup group({.password = "secret", .sentinels_have_password = true});
  const auto store = OpenRedis(group.url());
  const ChargeAnswer answer = TakeOne(*store, "gpt-4o", kWide);
  EXPECT_TRUE(answer.fits()) << answer.problem;
}

TEST(RedisSentinel, SpeaksTls) {
  SentinelGroup group({.password = "secret", .tls = true});
  const auto store = OpenRedis(group.url(), {.timeout = std::chrono::seconds(20), .ca_file = group.ca_file()});
  const ChargeAnswer answer = TakeOne(*store, "gpt-4o", kWide);
  EXPECT_TRUE(answer.fits()) << answer.problem;
}

TEST(RedisSentinel, ReportsAnUnknownMaster) {
  SentinelGroup group;
  const auto store = OpenRedis("redis-sentinel://" + group.sentinels()[0]->address() + "/other");
  const ChargeAnswer answer = TakeOne(*store, "gpt-4o", kWide);
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(answer.problem.find("\"other\""), std::string::npos) << answer.problem;
  EXPECT_EQ(store->Health().breaker, StoreHealth::Breaker::kOpen);
  EXPECT_FALSE(store->Models().ok());
}

TEST(RedisSentinel, SaysThatThePasswordIsWrong) {
  SentinelGroup group({.password = "secret"});
  std::string url = group.url();
  url.replace(url.find("secret"), 6, "hunter2");
  const auto store = OpenRedis(url);
  const ChargeAnswer answer = TakeOne(*store, "gpt-4o", kWide);
  EXPECT_EQ(answer.code, QuotaCode::kStoreUnavailable);
  EXPECT_NE(answer.problem.find("WRONGPASS"), std::string::npos) << answer.problem;
  EXPECT_EQ(answer.problem.find("hunter2"), std::string::npos) << answer.problem;
}

TEST(RedisSentinel, ReportsASentinelThatIsNamedAsARedis) {
  RedisProcess sentinel({.kind = RedisProcessOptions::Kind::kSentinel});
  const auto store = OpenRedis("redis://" + sentinel.address());
  const std::string problem = TakeOne(*store, "gpt-4o", {.max_rpm = 5}).problem;
  EXPECT_NE(problem.find("this is a Sentinel: the store's URL must be redis-sentinel://HOST:PORT/MASTER"),
            std::string::npos)
      << problem;
}

}  // namespace
}  // namespace weir
