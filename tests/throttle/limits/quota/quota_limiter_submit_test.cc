// Submit and SubmitSettle give the same answers without waiting for the store.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/scripted_store.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Call = QuotaObserver::Call;

TEST(QuotaLimiterSubmit, AStoreThatAnswersAtOnceIsAnsweredAtOnce) {
  ScriptedStore store;
  QuotaLimiter limiter(store);
  int answers = 0;
  limiter.Submit(Call::kReserve, {.model = "m", .tokens = 5}, [&](Decision d) {
    ++answers;
    EXPECT_TRUE(d.allowed);
    EXPECT_EQ(d.reservation, "id@m");
  });
  limiter.SubmitSettle("id@m", TokenUse{5}, [&](const Settled& s) {
    ++answers;
    EXPECT_TRUE(s.ok());
  });
  EXPECT_EQ(answers, 2);
  EXPECT_TRUE(store.pending.empty());
}

TEST(QuotaLimiterSubmit, AnAnswerThatComesLaterKnowsItsQuestion) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  QuotaConfig config;
  config.tiers.default_limits.user_model = {{.amount = 3, .per = 1h}};
  QuotaLimiter limiter(store, config);
  store.answers.push_back(
      {.code = QuotaCode::kTierExceeded, .tier = 0, .retry_after = Duration(90s), .tiers = {{.used = 3}}});
  std::optional<Decision> decision;
  {
    const auto model = std::make_unique<std::string>("a model whose name goes before the answer comes");
    const auto user = std::make_unique<std::string>("a user whose name goes before the answer comes");
    limiter.Submit(Call::kTake, {.model = *model, .requester = {.user = *user}}, [&](Decision d) { decision = d; });
  }
  ASSERT_TRUE(limiter.Reconfigure({.shadow = true}).ok());
  EXPECT_FALSE(decision);
  store.AnswerOne();
  ASSERT_TRUE(decision);
  EXPECT_FALSE(decision->allowed) << "by the configuration that it was asked under";
  EXPECT_EQ(decision->tier, Tier::kUserModel);
  EXPECT_EQ(decision->retry_after, Duration(90s));
  EXPECT_EQ(decision->reason,
            "a model whose name goes before the answer comes, tier user_model (user:a user whose name goes before the "
            "answer comes): 3 of 3 requests in 1 h; try again in 1 min 30 s");
  ASSERT_EQ(decision->tiers.size(), 1U);
  EXPECT_EQ(decision->tiers[0].remaining, 0);
}

TEST(QuotaLimiterSubmit, MalformedRequestsAreAnsweredAtOnce) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  QuotaLimiter limiter(store);
  int answers = 0;
  limiter.Submit(Call::kTake, {.model = "m", .tokens = -1}, [&](const Decision& d) {
    ++answers;
    EXPECT_EQ(d.code, QuotaCode::kInvalidTokens);
  });
  limiter.SubmitSettle("id@m", TokenUse{-1}, [&](const Settled& s) {
    ++answers;
    EXPECT_EQ(s.code, Settled::Code::kInvalidTokens);
  });
  EXPECT_EQ(answers, 2);
  EXPECT_TRUE(store.asked.empty());
}

TEST(QuotaLimiterSubmit, SettlesAndRefunds) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  QuotaLimiter limiter(store);
  std::vector<Settled::Code> codes;
  const auto done = [&](const Settled& s) { codes.push_back(s.code); };
  limiter.SubmitSettle("id@m", TokenUse{5}, done);
  store.settlement.code = SettlementAnswer::Code::kUnknown;
  limiter.SubmitSettle("id@m", std::nullopt, done);
  EXPECT_TRUE(codes.empty());
  store.AnswerOne();
  store.AnswerOne();
  EXPECT_EQ(codes, (std::vector{Settled::Code::kSettled, Settled::Code::kUnknownReservation}));
  ASSERT_EQ(store.settled.size(), 2U);
  EXPECT_EQ(store.settled[0].second, 5);
  EXPECT_FALSE(store.settled[1].second);
}

TEST(QuotaLimiterSubmit, TheEndWaitsForTheAnswersThatAreUnderWay) {
  ScriptedStore store;
  store.pace_now = QuotaStore::Pace::kAsynchronous;
  auto limiter = std::make_unique<QuotaLimiter>(store);
  std::atomic<bool> answered = false;
  limiter->Submit(Call::kTake, {.model = "m"}, [&](const Decision&) { answered = true; });
  std::thread answers([&] { store.AnswerOne(); });
  limiter.reset();
  EXPECT_TRUE(answered);
  answers.join();
}

}  // namespace
}  // namespace weir
