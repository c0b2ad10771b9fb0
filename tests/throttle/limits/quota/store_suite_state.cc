// For every store: the state that it keeps, forgets, and hands over.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using enum Limit::Unit;
using Names = std::vector<std::string>;

TEST_P(QuotaStoreSuite, ListsModelsThatAreStatedOrCounted) {
  EXPECT_EQ(store().Models().value(), Names());
  ASSERT_TRUE(store().SetQuota("o1", ModelQuota{.max_rpm = 5}).ok());
  ASSERT_TRUE(Take("gpt-4o", {}).fits());
  ASSERT_TRUE(Take("claude", {}).fits());
  EXPECT_EQ(store().Models().value(), (Names{"claude", "gpt-4o", "o1"}));
  clock_.Advance(hours(1));
  EXPECT_EQ(store().Models().value(), (Names{"claude", "gpt-4o", "o1"}));  // its day goes on
  clock_.Advance(hours(23));
  store().Prune();
  EXPECT_EQ(store().Models().value(), Names{"o1"});
  ASSERT_TRUE(store().SetQuota("o1", {}).ok());
  EXPECT_EQ(store().Models().value(), Names());
}

TEST_P(QuotaStoreSuite, ListsModelsThatOnlyTiersOrReservationsCount) {
  const TierCharge window{"all", Window(kTokens, 1000, hours(24 * 30))};
  const TierCharge bucket{"all", Bucket(kTokens, 1, hours(1), 100)};
  ASSERT_TRUE(Take("window", {.tokens = 5, .tiers = {window}}).fits());
  ASSERT_TRUE(Take("bucket", {.tokens = 50, .tiers = {bucket}}).fits());
  ASSERT_TRUE(Take("reset", {.tokens = 5, .tiers = {window, bucket}}).fits());
  ASSERT_TRUE(Hold("held", {.tokens = 5, .hold_for = hours(40)}).fits());
  ASSERT_TRUE(Take("quiet", {}).fits());
  clock_.Advance(hours(30));
  ASSERT_TRUE(store().Reset("reset").ok());
  EXPECT_EQ(store().Models().value(), (Names{"bucket", "held", "window"}));
  clock_.Advance(hours(20));
  if (GetParam().forgets_at_once) {
    EXPECT_EQ(store().Models().value(), Names{"window"});
  }
  clock_.Advance(GetParam().forgets_at_once ? hours(24 * 30) : hours(24 * 60));
  EXPECT_EQ(store().Models().value(), Names());
}

TEST_P(QuotaStoreSuite, PruneForgetsNothingThatCounts) {
  const TierCharge day{"user:alice", Window(kRequests, 5, hours(48))};
  const TierCharge bucket{"user:alice", Bucket(kTokens, 5, hours(48), 9)};
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 5, .tiers = {day, bucket}}).fits());
  store().Prune();
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 5);
  clock_.Advance(hours(24));
  store().Prune();
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(UsedOf("gpt-4o", day), 1);
  EXPECT_EQ(UsedOf("gpt-4o", bucket), 3);  // 5 were taken, 2.5 are refilled
  clock_.Advance(hours(24));
  store().Prune();
  EXPECT_EQ(UsedOf("gpt-4o", day), 0);
}

TEST_P(QuotaStoreSuite, ResetForgetsTheCountsOfAModelAndKeepsItsQuota) {
  const TierCharge tier{"user:alice", Window(kRequests, 5, hours(1))};
  ASSERT_TRUE(store().SetQuota("gpt-4o", ModelQuota{.max_rpm = 5}).ok());
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 5, .tiers = {tier}}).fits());
  ASSERT_TRUE(Take("o1", {.tokens = 5, .tiers = {tier}}).fits());
  ASSERT_TRUE(store().Reset("gpt-4o").ok());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(UsedOf("gpt-4o", tier), 0);
  EXPECT_EQ(Peek("gpt-4o", {}).quota, ModelQuota{.max_rpm = 5});
  EXPECT_EQ(UsageOf("o1").tpm, 5);
  EXPECT_TRUE(store().Reset("never heard of").ok());

  ASSERT_TRUE(Take("gpt-4o", {.tokens = 5}).fits());
  ASSERT_TRUE(store().Reset("").ok());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
  EXPECT_EQ(UsageOf("o1"), ModelUsage());
  EXPECT_EQ(UsedOf("o1", tier), 0);
  EXPECT_EQ(store().Models().value(), Names{"gpt-4o"});
}

TEST_P(QuotaStoreSuite, ExportTellsAllThatCounts) {
  ASSERT_TRUE(store().SetQuota("gpt-4o", ModelQuota{.max_rpm = 500, .max_tpm = 30'000}).ok());
  ASSERT_TRUE(Take("gpt-4o", {.tokens = 900}).fits());
  clock_.Advance(std::chrono::milliseconds(1234));
  ASSERT_FALSE(Hold("gpt-4o", {.tokens = 80}).reservation.empty());
  ASSERT_TRUE(store().SetQuota("o1", ModelQuota{.max_rpd = 7}).ok());
  const WallTime later = kStart + std::chrono::milliseconds(1234);
  const QuotaState expected = {
      {"gpt-4o",
       {.quota = ModelQuota{.max_rpm = 500, .max_tpm = 30'000},
        .requests = {{kStart, 1}, {later, 1}},
        .tokens = {{kStart, 900}, {later, 80}},
        .day_start = kStart,
        .day_count = 2}},
      {"o1", {.quota = ModelQuota{.max_rpd = 7}}},
  };
  EXPECT_EQ(store().Export().value(), expected);
}

TEST_P(QuotaStoreSuite, AnImportReplacesAllAndCountsOn) {
  const ModelQuota quota{.max_rpm = 3, .max_tpm = 1000, .max_rpd = 50};
  const QuotaState state = {
      {"a:b@{c}",
       {.quota = quota,
        .requests = {{kStart - seconds(50), 2}, {kStart - seconds(1), 1}},
        .tokens = {{kStart - seconds(50), 600}, {kStart - seconds(20), 300}},
        .day_start = kStart - hours(20),
        .day_count = 48}},
      {"stated", {.quota = ModelQuota{}}},
      {"unstated", {.tokens = {{kStart - seconds(10), 5}}}},
  };
  ASSERT_TRUE(store().SetQuota("old", quota).ok());
  ASSERT_TRUE(Take("older", {.tokens = 7}).fits());
  const std::string held = Hold("a:b@{c}", {.tokens = 7}).reservation;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().Import(state).ok());
    EXPECT_EQ(store().Export().value(), state);
    EXPECT_EQ(store().Models().value(), (Names{"a:b@{c}", "stated", "unstated"}));
  }
  EXPECT_EQ(Commit(held, 3).code, SettlementAnswer::Code::kUnknown);
  EXPECT_EQ(UsageOf("a:b@{c}"), (ModelUsage{.rpm = 3, .tpm = 900, .rpd = 48, .day_start = kStart - hours(20)}));
  EXPECT_EQ(Peek("a:b@{c}", {.tokens = 101}).code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(Peek("a:b@{c}", {.tokens = 701}).retry_after, seconds(40));
  ExpectFitsAfterRetry("a:b@{c}", {.tokens = 701});
  EXPECT_EQ(UsageOf("unstated").tpm, 5);
}

TEST_P(QuotaStoreSuite, ExpiredEntriesOfAnImportDoNotCount) {
  QuotaState state;
  ModelState& model = state["gpt-4o"];
  for (int i = 20'000; i > 0; --i) model.tokens.push_back({kStart - kMinute - std::chrono::milliseconds(i), 7});
  model.tokens.push_back({kStart - kMinute, 5});
  for (int i = 12; i > 0; --i) model.tokens.push_back({kStart - seconds(i), 70});
  model.requests = {{kStart - hours(1), 3}, {kStart - seconds(1), 1}};
  model.day_start = kStart - hours(24);
  model.day_count = 9;
  ASSERT_TRUE(store().Import(state).ok());
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 1, .tpm = 840}));
}

TEST_P(QuotaStoreSuite, ImportsTooManyEntriesAsAMinuteOfTheSameSum) {
  QuotaState state;
  for (int i = 10'000; i > 0; --i) state["gpt-4o"].tokens.push_back({kStart - std::chrono::milliseconds(5 * i), 3});
  ASSERT_TRUE(store().Import(state).ok());
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 30'000);
  const QuotaState exported = store().Export().value();
  int64_t sum = 0;
  for (const ModelState::Entry& entry : exported.at("gpt-4o").tokens) sum += entry.amount;
  EXPECT_EQ(sum, 30'000);
  clock_.Advance(kMinute);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 0);
}

TEST_P(QuotaStoreSuite, NegativeQuotasAreRefused) {
  const QuotaState before = {{"gpt-4o", {.quota = ModelQuota{.max_rpm = 5}}}};
  ASSERT_TRUE(store().Import(before).ok());
  for (const ModelQuota& quota : {ModelQuota{.max_rpm = -1}, ModelQuota{.max_tpm = -1}, ModelQuota{.max_rpd = -1}}) {
    EXPECT_FALSE(store().SetQuota("gpt-4o", quota).ok());
    EXPECT_FALSE(store().Import({{"gpt-4o", {.quota = quota}}}).ok());
    EXPECT_EQ(store().Export().value(), before);
  }
}

TEST_P(QuotaStoreSuite, NegativeAmountsCountAsNothing) {
  EXPECT_TRUE(Take("gpt-4o", {.tokens = -5}).fits());
  EXPECT_TRUE(Force("gpt-4o", {.tokens = -5}).fits());
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = 2, .rpd = 2, .day_start = kStart}));
}

TEST_P(QuotaStoreSuite, NamesWithSeparatorsStayApart) {
  const Names models = {"a",
                        "a:b",
                        "a@b",
                        "{a}",
                        "a}",
                        "%61",
                        "a%3Ab",
                        "a b",
                        " a",
                        "A",
                        "ä",
                        "a*",
                        "a?",
                        "[a]",
                        "a'b",
                        "a\"b",
                        "a\\b",
                        "a\xc2\xa0",
                        std::string(256, 'a'),
                        std::string(255, 'a')};
  int64_t tokens = 0;
  const TierCharge tier{"user:%3A", Window(kTokens, 1'000'000, hours(1))};
  for (const std::string& model : models) ASSERT_TRUE(Take(model, {.tokens = ++tokens, .tiers = {tier}}).fits());
  tokens = 0;
  for (const std::string& model : models) {
    EXPECT_EQ(UsageOf(model).tpm, ++tokens) << model;
    EXPECT_EQ(UsedOf(model, tier), tokens) << model;
  }
  Names sorted = models;
  std::ranges::sort(sorted);
  EXPECT_EQ(store().Models().value(), sorted);
  ASSERT_TRUE(store().Reset("a*").ok());
  EXPECT_EQ(store().Models().value().size(), models.size() - 1);
}

TEST_P(QuotaStoreSuite, TenThousandModelsAreCountedApart) {
  const auto name = [](int i) { return "model-" + std::to_string(i); };
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(Take(name(i), {.tokens = i + 1}).fits());
  EXPECT_EQ(store().Models().value().size(), 10'000U);
  for (int i = 0; i < 10'000; i += 997) EXPECT_EQ(UsageOf(name(i)).tpm, i + 1);
  clock_.Advance(hours(24));
  store().Prune();
  EXPECT_TRUE(store().Models().value().empty());
}

TEST_P(QuotaStoreSuite, TooManyModelsAreRefused) {
  if (!GetParam().bounds_whole) GTEST_SKIP() << "bounds its parts";
  Open({.max_models = 3});
  for (const char* model : {"a", "b", "c"}) ASSERT_TRUE(Take(model, {}).fits());
  ASSERT_TRUE(store().SetQuota("stated", ModelQuota{.max_rpm = 1, .max_tpm = 10}).ok());
  const ChargeAnswer refused = Take("d", {.tokens = 5});
  EXPECT_EQ(refused.code, QuotaCode::kTooManyNames);
  EXPECT_FALSE(refused.retry_after);
  EXPECT_TRUE(Hold("d", {}).reservation.empty());
  EXPECT_EQ(Take("stated", {.tokens = 11}).code, QuotaCode::kTooLarge);
  EXPECT_EQ(Take("stated", {.tokens = 5}).code, QuotaCode::kOk);
  EXPECT_EQ(Take("configured", {.quota = {{.max_rpm = 5}}}).code, QuotaCode::kOk);
  EXPECT_EQ(Take("unlimited", {.quota = ModelQuota()}).code, QuotaCode::kUnlimited);
  EXPECT_TRUE(Take("a", {}).fits());
  EXPECT_EQ(store().Health().dropped_entries, 0U);
  const ChargeAnswer dropped = Force("d", {.tokens = 5});
  EXPECT_EQ(dropped.code, QuotaCode::kTooManyNames);
  EXPECT_FALSE(dropped.charged);
  EXPECT_EQ(store().Health().dropped_entries, 1U);
  EXPECT_TRUE(ForceHold("d", {.tokens = 5}).reservation.empty());
  EXPECT_EQ(store().Models().value(), (Names{"a", "b", "c", "configured", "stated", "unlimited"}));

  clock_.Advance(GetParam().forgets_at_once ? hours(24) : hours(25));
  EXPECT_TRUE(Take("d", {}).fits());
}

TEST_P(QuotaStoreSuite, ImportsMoreModelsThanMayBeCountedAtOnce) {
  if (!GetParam().bounds_whole) GTEST_SKIP() << "bounds its parts";
  Open({.max_models = 2});
  QuotaState state;
  for (const char* model : {"a", "b", "c"}) state[model].tokens = {{kStart, 5}};
  ASSERT_TRUE(store().Import(state).ok());
  EXPECT_EQ(store().Export().value(), state);
  EXPECT_EQ(Take("d", {}).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(Take("c", {}).code, QuotaCode::kUnknownModel);

  state.erase("c");
  state["b"].quota = ModelQuota{.max_rpm = 5};
  ASSERT_TRUE(store().Import(state).ok());
  EXPECT_EQ(Take("d", {}).code, QuotaCode::kUnknownModel) << "b takes no place";
  EXPECT_EQ(Take("e", {}).code, QuotaCode::kTooManyNames);
}

TEST_P(QuotaStoreSuite, AModelGivesUpItsPlaceAtAChargeWithAQuota) {
  if (!GetParam().bounds_whole || !GetParam().default_quota_frees) GTEST_SKIP() << "bounds others, too";
  Open({.max_models = 2});
  QuotaState state;
  for (const char* model : {"a", "b", "c"}) state[model].tokens = {{kStart, 5}};
  ASSERT_TRUE(store().Import(state).ok());
  const Ask known{.quota = {{.max_rpm = 5}}};
  EXPECT_EQ(Take("a", known).code, QuotaCode::kOk);
  EXPECT_EQ(Take("d", {}).code, QuotaCode::kTooManyNames) << "b and c take the two places";
  EXPECT_EQ(Take("b", known).code, QuotaCode::kOk);
  EXPECT_EQ(Take("d", {}).code, QuotaCode::kUnknownModel);
  EXPECT_EQ(Take("e", {}).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(Take("d", known).code, QuotaCode::kOk);
  EXPECT_EQ(Take("d", {}).code, QuotaCode::kUnknownModel) << "it takes no place again";
  EXPECT_EQ(Take("e", {}).code, QuotaCode::kUnknownModel);
}

TEST_P(QuotaStoreSuite, TooManyTierKeysAreRefused) {
  if (!GetParam().bounds_whole) GTEST_SKIP() << "bounds its parts";
  Open({.max_tier_keys = 3});
  const Limit limit = Window(kRequests, 5, hours(1));
  const TierCharge a{"a", limit}, b{"b", limit}, c{"c", limit}, d{"d", limit};
  ASSERT_TRUE(Take("gpt-4o", {.tiers = {a, b}}).fits());
  EXPECT_EQ(Take("gpt-4o", {.tiers = {b, c, d}}).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 1);
  EXPECT_EQ(UsedOf("gpt-4o", b), 1);
  EXPECT_TRUE(Take("gpt-4o", {.tiers = {b, c}}).fits());
  EXPECT_EQ(Take("o1", {.tiers = {a}}).code, QuotaCode::kTooManyNames);
  const ChargeAnswer forced = Force("gpt-4o", {.tiers = {a, d}});
  EXPECT_EQ(forced.code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(forced.charged);
  EXPECT_EQ(UsageOf("gpt-4o").rpm, 3);
  EXPECT_EQ(UsedOf("gpt-4o", a), 2);
  EXPECT_EQ(store().Health().dropped_entries, 1U);

  clock_.Advance(GetParam().forgets_at_once ? hours(1) : hours(3));
  EXPECT_TRUE(Take("o1", {.tiers = {a}}).fits());
}

TEST_P(QuotaStoreSuite, ATierWhoseReservationWasSettledMakesRoomForAnother) {
  Open({.max_tier_keys = 1});
  const Limit limit = Window(kRequests, 5, hours(1));
  const std::string held = Hold("gpt-4o", {.tokens = 3, .tiers = {{"a", limit}}}).reservation;
  ASSERT_EQ(Refund(held).code, SettlementAnswer::Code::kSettled);
  clock_.Advance(hours(3));
  EXPECT_TRUE(Take("gpt-4o", {.tiers = {{"b", limit}}}).fits());
}

TEST_P(QuotaStoreSuite, ACallerThatMayNotNameIsRefusedOnlyNewNames) {
  const Limit limit = Window(kRequests, 5, hours(1));
  const std::vector<TierCharge> tiers{{"user:alice", limit}, {"user:bob", limit}};
  const auto take = [&](std::string_view model, bool may_name) {
    return store().Run(
        {.model = model, .mode = Charge::Mode::kTake, .tokens = 1, .tiers = tiers, .may_name = may_name});
  };
  EXPECT_EQ(take("gpt-4o", false).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(take("gpt-4o", true).new_names, 3U);
  const ChargeAnswer again = take("gpt-4o", false);
  EXPECT_TRUE(again.charged);
  EXPECT_EQ(again.new_names, 0U);
  EXPECT_EQ(take("o1", false).code, QuotaCode::kTooManyNames);
}

TEST_P(QuotaStoreSuite, ItIsWarnedOfBeforeTheRoomForNamesIsTaken) {
  if (!GetParam().bounds_whole) GTEST_SKIP() << "bounds its parts";
  Open({.max_models = 10});
  for (int i = 1; i < 9; ++i) ASSERT_TRUE(Take("model-" + std::to_string(i), {}).fits());
  EXPECT_EQ(store().Health().warning, "");
  ASSERT_TRUE(Take("model-9", {}).fits());
  EXPECT_NE(store().Health().warning.find("nine tenths of the names"), std::string::npos);
}

TEST_P(QuotaStoreSuite, AnotherHandleSeesTheSame) {
  if (!tested_.open_another) GTEST_SKIP() << "its state is its own";
  const std::unique_ptr<QuotaStore> other = tested_.open_another();
  ASSERT_TRUE(other);
  const ModelQuota quota{.max_tpm = 1000};
  ASSERT_TRUE(store().SetQuota("gpt-4o", quota).ok());
  const std::string held = Hold("gpt-4o", {.tokens = 900}).reservation;
  const ChargeAnswer refused = other->Run(Charge{.model = "gpt-4o", .mode = Charge::Mode::kTake, .tokens = 200});
  EXPECT_EQ(refused.code, QuotaCode::kTpmExceeded);
  EXPECT_EQ(refused.quota, quota);
  EXPECT_EQ(other->Run(Settlement{.reservation = held, .tokens = 100}).code, SettlementAnswer::Code::kSettled);
  EXPECT_EQ(UsageOf("gpt-4o").tpm, 100);
  EXPECT_EQ(other->Models().value(), store().Models().value());
  EXPECT_EQ(other->Export().value(), store().Export().value());
  ASSERT_TRUE(other->Reset("gpt-4o").ok());
  EXPECT_EQ(UsageOf("gpt-4o"), ModelUsage());
}

TEST_P(QuotaStoreSuite, ManyThreadsNeverTakeMoreThanThereIs) {
  constexpr int kThreads = 4;
  constexpr int kTries = 50;
  const TierCharge tier{"all", Window(kTokens, 240, hours(1))};
  const Ask ask{.tokens = 3, .quota = {{.max_rpm = 100}}, .tiers = {tier}};
  std::atomic<int64_t> taken{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < kTries; ++n) {
          const ChargeAnswer answer = n % 2 == 0 ? Take("gpt-4o", ask) : Hold("gpt-4o", ask);
          if (!answer.fits()) continue;
          const bool refund = n % 4 == 1;
          if (!refund) ++taken;
          if (n % 2 == 0) continue;
          const SettlementAnswer settled = refund ? Refund(answer.reservation) : Commit(answer.reservation, 3);
          EXPECT_EQ(settled.code, SettlementAnswer::Code::kSettled);
        }
      });
  }
  EXPECT_LE(taken, 80);
  EXPECT_EQ(UsageOf("gpt-4o"), (ModelUsage{.rpm = taken, .tpm = 3 * taken, .rpd = taken, .day_start = kStart}));
  EXPECT_EQ(UsedOf("gpt-4o", tier), 3 * taken);
}

}  // namespace
}  // namespace weir
