// The cost of calls, the number under way at once, and messages about a call that come twice or before its end.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/manual_clock.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_config_reader.h"
#include "throttle/limits/quota/quota_limiter.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class QuotaLimiterCalls : public testing::Test {
 protected:
  void Use(const std::string& yaml) {
    QuotaConfig config;
    const Status read =
        ReadYaml(yaml, "weir.yaml", [&](YamlMap& root) { ReadQuotaSection(root.Required("quota"), &config); });
    ASSERT_TRUE(read.ok()) << read.message();
    ASSERT_TRUE(CheckQuotaConfig(config).ok());
    limiter_.emplace(store_, std::move(config), Clock::System(), nullptr, Sleeper::System(), clock_);
  }
  Decision Take(int64_t tokens, std::string_view key, std::string_view user = "alice") {
    return limiter_->Take({.model = "gpt-4o", .tokens = tokens, .requester = {.user = user}, .idempotency_key = key});
  }
  int64_t UsedBy(std::string_view user) {
    const Decision state = limiter_->Explain({.model = "gpt-4o", .requester = {.user = user}});
    return state.tiers.at(0).used;
  }
  int64_t Tokens() { return limiter_->Stats("gpt-4o").value().usage.tpm; }

  ManualWallClock clock_{WallTime(hours(500'000))};
  MemoryQuotaStore store_{{}, clock_};
  std::optional<QuotaLimiter> limiter_;
};

TEST(CostOf, CountsInAndOutputApartAndRoundsUp) {
  const ModelPrice price{.input = 2'500'000, .output = 10'000'000};
  struct Case {
    TokenUse use;
    int64_t cost;
  };
  for (const auto& [use, cost] :
       {Case{{.tokens = 0}, 0}, Case{TokenUse::Of(1'000'000, 0), 2'500'000},
        Case{TokenUse::Of(0, 1'000'000), 10'000'000}, Case{TokenUse::Of(300, 100), 1750}, Case{TokenUse::Of(1, 0), 3},
        Case{{.tokens = 100}, 1000}, Case{{.tokens = 100, .output = 500}, 1000}, Case{{.tokens = -5}, 0},
        Case{TokenUse::Of(kMostAmount, kMostAmount), kMostAmount}})
    EXPECT_EQ(CostOf(price, use), cost) << use.tokens;
  EXPECT_EQ(CostOf({.input = 7, .output = 0}, {.tokens = 1'000'000}), 7) << "of what nobody says, the dearer";
  EXPECT_EQ(TokenUse::Of(-1, 5).tokens, -1);
}

RC_GTEST_PROP(CostOf, IsNeverLessThanTheExactPriceNorAMillionthMore, ()) {
  const ModelPrice price{.input = *rc::gen::inRange<int64_t>(0, 1'000'000'000),
                         .output = *rc::gen::inRange<int64_t>(0, 1'000'000'000)};
  const auto prompt = *rc::gen::inRange<int64_t>(0, 100'000'000);
  const auto output = *rc::gen::inRange<int64_t>(0, 100'000'000);
  const long double exact =
      (static_cast<long double>(prompt) * price.input + static_cast<long double>(output) * price.output) / 1'000'000;
  const int64_t cost = CostOf(price, TokenUse::Of(prompt, output));
  RC_ASSERT(cost + 0.0L >= exact);
  RC_ASSERT(cost - 1.0L < exact);
  RC_ASSERT(CostOf(price, {.tokens = prompt + output}) >= cost);
}

constexpr const char* kBudget = R"(
quota:
  models: {gpt-4o: {max_tpm: 1000000, also: ["gpt-4o-2*"]}}
  prices:
    gpt-4o: {input: 2.50, output: 10.00}
    "*": {input: 1, output: 1}
  tiers:
    users:
      "*": [{money: 0.01, per: day}]
)";

TEST_F(QuotaLimiterCalls, ABudgetIsSpentByThePricesOfTheModels) {
  Use(kBudget);
  const Decision held =
      limiter_->Reserve({.model = "gpt-4o-2024", .tokens = 900, .requester = {.user = "alice"}, .output_tokens = 600});
  EXPECT_EQ(held.cost, 6750);
  const Decision refused = limiter_->Reserve({.model = "o1", .tokens = 3251, .requester = {.user = "alice"}});
  EXPECT_EQ(refused.code, QuotaCode::kTierExceeded);
  EXPECT_NE(refused.reason.find("total:user:alice): 0.00675 of 0.01 of money in a calendar day, and 0.003251 more"),
            std::string::npos)
      << refused.reason;
  const Settled settled = limiter_->Commit(held.reservation, 300, 100);
  EXPECT_EQ(settled.cost, 1750);
  EXPECT_EQ(UsedBy("alice"), 1750);
  EXPECT_TRUE(limiter_->Take({.model = "o1", .tokens = 3251, .requester = {.user = "alice"}}).allowed);
  EXPECT_EQ(UsedBy("alice"), 5001);
  EXPECT_EQ(limiter_->RecordUsage("gpt-4o", 0, 1000, {.user = "alice"}).cost, 10'000);
  EXPECT_EQ(UsedBy("alice"), 15'001);
  EXPECT_EQ(UsedBy("bob"), 0);
}

TEST_F(QuotaLimiterCalls, AModelWithoutAPriceCostsNothing) {
  Use("quota: {prices: {gpt-4o: {input: 1, output: 1}}, tiers: {users: {\"*\": [{money: 1, per: 1d}]}}}");
  const Decision free = limiter_->Take({.model = "o1", .tokens = 5'000'000, .requester = {.user = "alice"}});
  EXPECT_TRUE(free.allowed);
  EXPECT_FALSE(free.cost);
}

TEST_F(QuotaLimiterCalls, UnsettledReservationsCountAsCallsAtOnce) {
  Use("quota: {tiers: {users: {\"*\": [{in_flight: 2}]}}}");
  const auto reserve = [&](std::string_view model) {
    return limiter_->Reserve({.model = model, .tokens = 5, .requester = {.user = "alice"}});
  };
  const std::string first = reserve("gpt-4o").reservation;
  EXPECT_TRUE(reserve("o1").allowed);
  const Decision third = reserve("o3");
  EXPECT_EQ(third.code, QuotaCode::kTierExceeded);
  EXPECT_EQ(third.retry_after, Duration(seconds(1)));
  EXPECT_NE(third.reason.find("2 of 2 calls at once"), std::string::npos) << third.reason;
  limiter_->Commit(first, 5);
  EXPECT_TRUE(reserve("o3").allowed);
}

TEST_F(QuotaLimiterCalls, AKeyCountsOnceForEachRequester) {
  Use("quota: {models: {gpt-4o: {max_tpm: 1000}, o1: {}}}");
  EXPECT_FALSE(Take(100, "k").again);
  const Decision again = Take(100, "k");
  EXPECT_TRUE(again.allowed);
  EXPECT_TRUE(again.again);
  EXPECT_TRUE(again.reservation.empty());
  EXPECT_EQ(Tokens(), 100);
  EXPECT_FALSE(Take(100, "k2").again);
  EXPECT_FALSE(Take(100, "k", "bob").again);
  EXPECT_FALSE(
      limiter_->Reserve({.model = "gpt-4o", .tokens = 100, .requester = {.user = "alice"}, .idempotency_key = "k"})
          .again)
      << "a take is no reservation";
  EXPECT_EQ(Tokens(), 400);
  clock_.Advance(hours(24) - seconds(1));
  EXPECT_TRUE(Take(100, "k").again);
  EXPECT_EQ(Tokens(), 0);
}

TEST_F(QuotaLimiterCalls, AKeyWithOtherTokensIsRefused) {
  Use("quota: {models: {gpt-4o: {max_tpm: 1000}}}");
  ASSERT_TRUE(Take(100, "k").allowed);
  const Decision reused = Take(200, "k");
  EXPECT_FALSE(reused.allowed);
  EXPECT_EQ(reused.code, QuotaCode::kKeyReused);
  EXPECT_EQ(
      reused.reason,
      "gpt-4o: this idempotency key came with 100 tokens before, and now with 200; a new request needs a new key");
  EXPECT_FALSE(reused.retry_after);
  EXPECT_EQ(Tokens(), 100);
  EXPECT_EQ(Take(1, std::string(257, 'x')).code, QuotaCode::kInvalidName);
}

TEST_F(QuotaLimiterCalls, CallsAtOnceLimitOnlyReservations) {
  using Call = QuotaLimiter::Call;
  Use("quota: {models: {gpt-4o: {max_tpm: 1000}}, tiers: {users: {\"*\": [{in_flight: 1}]}}}");
  QuotaRequest request{.model = "gpt-4o", .tokens = 1, .requester = {.user = "alice"}};
  ASSERT_TRUE(limiter_->Reserve(request).allowed);
  for (const std::string_view key : {"", "k"}) {
    request.idempotency_key = key;
    for (const Call call : {Call::kDecide, Call::kExplain, Call::kTake, Call::kRecord, Call::kReserve}) {
      std::optional<Decision> decision;
      limiter_->Submit(call, request, [&](Decision made) { decision = std::move(made); });
      ASSERT_TRUE(decision);
      EXPECT_EQ(decision->code, call == Call::kReserve ? QuotaCode::kTierExceeded : QuotaCode::kOk)
          << key << " " << static_cast<int>(call);
    }
  }
  EXPECT_EQ(UsedBy("alice"), 1);
}

TEST_F(QuotaLimiterCalls, ARefusedCallMayPassWithItsKeyLater) {
  Use("quota: {models: {gpt-4o: {max_rpm: 1}}}");
  ASSERT_TRUE(Take(1, "").allowed);
  EXPECT_FALSE(Take(1, "k").allowed);
  clock_.Advance(seconds(60));
  const Decision later = Take(1, "k");
  EXPECT_TRUE(later.allowed);
  EXPECT_FALSE(later.again);
}

TEST_F(QuotaLimiterCalls, AReservationThatIsAskedForAgainIsTheSame) {
  Use("quota: {models: {gpt-4o: {max_tpm: 1000}}}");
  const QuotaRequest request{.model = "gpt-4o", .tokens = 700, .idempotency_key = "k"};
  const Decision held = limiter_->Reserve(request);
  const Decision again = limiter_->Reserve(request);
  EXPECT_TRUE(again.allowed);
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.reservation, held.reservation);
  EXPECT_TRUE(limiter_->Commit(held.reservation, 300).ok());
  EXPECT_TRUE(limiter_->Commit(again.reservation, 300).again);
  EXPECT_EQ(Tokens(), 300);
}

TEST_F(QuotaLimiterCalls, RecordsWithAKeyCountOnceEvenBeyondTheLimits) {
  Use("quota: {models: {gpt-4o: {max_tpm: 100}}}");
  const QuotaRequest request{.model = "gpt-4o", .tokens = 700, .idempotency_key = "k"};
  for (int i = 0; i < 3; ++i) {
    std::optional<Decision> recorded;
    limiter_->Submit(QuotaLimiter::Call::kRecord, request, [&](Decision decision) { recorded = std::move(decision); });
    ASSERT_TRUE(recorded);
    EXPECT_TRUE(recorded->allowed);
    EXPECT_EQ(recorded->again, i > 0);
  }
  EXPECT_EQ(Tokens(), 700);
}

TEST_F(QuotaLimiterCalls, AStreamReportsItsUseSoFar) {
  Use(kBudget);
  const Decision held =
      limiter_->Reserve({.model = "gpt-4o", .tokens = 400, .requester = {.user = "alice"}, .output_tokens = 100});
  EXPECT_EQ(UsedBy("alice"), 1750);
  const Settled so_far = limiter_->CommitSoFar(held.reservation, TokenUse::Of(300, 200), minutes(5));
  EXPECT_TRUE(so_far.ok());
  EXPECT_EQ(so_far.actual_tokens, 500);
  EXPECT_EQ(so_far.cost, 2750);
  EXPECT_EQ(so_far.extended_to, Duration(minutes(10))) << "it has that much, and keeps it";
  EXPECT_EQ(Tokens(), 500);
  EXPECT_EQ(UsedBy("alice"), 2750);
  clock_.Advance(minutes(10));
  EXPECT_EQ(UsedBy("alice"), 2750) << "nobody settled it, and so much was used";
  EXPECT_TRUE(limiter_->Commit(held.reservation, 300, 300).late);
  EXPECT_EQ(UsedBy("alice"), 3750);
  EXPECT_EQ(limiter_->CommitSoFar(held.reservation, TokenUse::Of(-1, 0)).code, Settled::Code::kInvalidTokens);
}

TEST_F(QuotaLimiterCalls, OnlyASuccessfulExtensionNamesADeadline) {
  Use(kBudget);
  const auto reserve = [&] { return limiter_->Reserve({.model = "gpt-4o", .tokens = 10}).reservation; };
  const std::string expired = reserve();
  clock_.Advance(hours(1));
  const std::string settled = reserve();
  EXPECT_TRUE(limiter_->Commit(settled, 10).ok());
  const std::string open = reserve();
  const std::string unknown = FormatReservationId(ReservationToken(), "gpt-4o");
  const struct {
    const char* name;
    std::string reservation;
  } cases[] = {{"expired", expired}, {"settled", settled}, {"unknown", unknown}, {"open", open}};
  for (const auto& [name, reservation] : cases) {
    SCOPED_TRACE(name);
    const Settled extended = limiter_->Extend(reservation, minutes(30));
    const Settled so_far = limiter_->CommitSoFar(reservation, TokenUse::Of(1, 1), minutes(30));
    for (const Settled& answer : {extended, so_far}) {
      EXPECT_EQ(answer.ok(), reservation == open) << answer.reason;
      EXPECT_EQ(answer.extended_to, answer.ok() ? Duration(minutes(30)) : Duration());
    }
  }
}

}  // namespace
}  // namespace weir
