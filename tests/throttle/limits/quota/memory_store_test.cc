#include "throttle/limits/quota/memory_store.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <thread>

#include "tests/throttle/limits/quota/store_suite.h"
#include "throttle/limits/quota/window_log.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Mode = Charge::Mode;

constexpr WallTime kStart{seconds(1'771'597'921)};

StoreUnderTest OpenMemory(const WallClock& clock, const StoreBounds& bounds) {
  const MemoryStoreOptions options{.max_models = bounds.max_models,
                                   .max_tier_keys = bounds.max_tier_keys,
                                   .max_named_ended = bounds.max_named_ended};
  return {.store = std::make_unique<MemoryQuotaStore>(options, clock)};
}

INSTANTIATE_TEST_SUITE_P(Memory, QuotaStoreSuite,
                         testing::Values(StoreKind{.name = "memory", .open = OpenMemory, .property_rounds = 500}),
                         NameOfKind);

TEST(MemoryQuotaStore, ForgetsUnusedModelsInPassing) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({}, clock);
  const auto take = [&](int i) { store.Run(Charge{.model = "model-" + std::to_string(i), .mode = Mode::kTake}); };
  for (int i = 0; i < 1000; ++i) take(i);
  clock.Advance(kDay);
  for (int i = 1000; i < 6000; ++i) take(i);
  const std::vector<std::string> before = store.Models().value();
  store.Prune();
  EXPECT_EQ(before, store.Models().value());
  EXPECT_EQ(before.size(), 5000U);
}

TEST(MemoryQuotaStore, ForgetsUnusedTierKeysInPassing) {
  // There is room for 400 keys and only 100 are live, so every new key finds room.
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({.max_tier_keys = 400}, clock);
  const Limit limit{.amount = 5, .per = seconds(100)};
  for (int i = 0; i < 5000; ++i) {
    const std::string key = "user:" + std::to_string(i);
    const TierCharge tier{key, limit};
    ASSERT_TRUE(store.Run(Charge{.model = "gpt-4o", .mode = Mode::kTake, .tiers = {&tier, 1}}).fits()) << i;
    clock.Advance(seconds(1));
  }
  EXPECT_EQ(store.Health().dropped_entries, 0U);
}

TEST(MemoryQuotaStore, BoundsOpenReservationsAndFreesExpiredOnesInPortions) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({}, clock);
  const auto run = [&](Mode mode) {
    return store.Run(Charge{.model = "gpt-4o", .mode = mode, .tokens = 1, .hold_for = seconds(100)});
  };
  std::string last;
  for (size_t i = 0; i < kMostOpenReservations; ++i) last = run(Mode::kHold).reservation;
  ASSERT_FALSE(last.empty());
  const ChargeAnswer refused = run(Mode::kHold);
  EXPECT_EQ(refused.code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(refused.reservation.empty());
  const ChargeAnswer forced = run(Mode::kForceHold);
  EXPECT_TRUE(forced.reservation.empty());
  EXPECT_FALSE(forced.charged);
  EXPECT_EQ(store.Health().dropped_entries, 1U);
  EXPECT_TRUE(run(Mode::kTake).charged);

  clock.Advance(seconds(100));
  EXPECT_TRUE(store.Run(Settlement{.reservation = last, .tokens = 1}).late);
  auto open = static_cast<int64_t>(kMostOpenReservations - store.Health().expired_reservations);
  EXPECT_LE(store.Health().expired_reservations, kMostExpiredAtOnce + 1);
  while (open > 0) {
    open = std::max<int64_t>(0, open - int64_t{kMostExpiredAtOnce});
    ASSERT_EQ(store.Run(Charge{.model = "gpt-4o", .requests = 0}).usage.open_reservations, open);
  }
  EXPECT_TRUE(run(Mode::kHold).charged);
}

TEST(MemoryQuotaStore, BoundsReservationsOfAllModelsAndForgetsEndedOnes) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({.max_reservations = 10}, clock);
  const auto hold = [&](int model, bool may_name = true) {
    return store.Run(Charge{.model = "m" + std::to_string(model),
                            .mode = Mode::kHold,
                            .tokens = 1,
                            .hold_for = seconds(100),
                            .may_name = may_name});
  };
  const auto commit = [&](const std::string& id) { return store.Run(Settlement{.reservation = id, .tokens = 1}); };
  std::vector<std::string> ids;
  for (int i = 0; i < 9; ++i) ids.push_back(hold(i).reservation);
  EXPECT_TRUE(hold(0, false).reservation.empty()) << "who has begun too many gets none of the last";
  const ChargeAnswer last = hold(9);
  EXPECT_TRUE(last.charged);
  EXPECT_EQ(last.nearly_full, true);
  EXPECT_NE(store.Health().warning.find("WEIR_QUOTA_MAX_RESERVATIONS"), std::string::npos);
  EXPECT_EQ(hold(10).code, QuotaCode::kTooManyNames);
  EXPECT_EQ(hold(0).code, QuotaCode::kTooManyNames);
  EXPECT_TRUE(store.Run(Charge{.model = "m0", .mode = Mode::kTake}).charged);

  for (const std::string& id : ids) EXPECT_EQ(commit(id).code, SettlementAnswer::Code::kSettled);
  for (int i = 0; i < 20; ++i) {
    const std::string id = hold(0).reservation;
    EXPECT_EQ(commit(id).code, SettlementAnswer::Code::kSettled);
    EXPECT_TRUE(commit(id).again) << "the last is remembered";
  }
  EXPECT_EQ(commit(ids[0]).code, SettlementAnswer::Code::kUnknown) << "the model's oldest goes first";
  EXPECT_TRUE(commit(ids[5]).again) << "of other models nothing does";
  ASSERT_TRUE(store.Reset("m5").ok());
  clock.Advance(seconds(100));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(hold(i).charged) << i;
}

TEST(MemoryQuotaStore, BoundsTheNamedReservationsThatEndedOfAllModels) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({.max_reservations = 10}, clock);
  const auto hold = [&](const std::string& model, int name) {
    const ReservationToken token = NamedReservationToken({std::to_string(name)});
    return store.Run(
        Charge{.model = model, .mode = Mode::kHold, .tokens = 1, .hold_for = seconds(100), .token = &token});
  };
  const auto end = [&](const std::string& model, int name) {
    const std::string id = hold(model, name).reservation;
    EXPECT_EQ(store.Run(Settlement{.reservation = id, .tokens = 1}).code, SettlementAnswer::Code::kSettled);
  };
  end("other", 0);
  for (int i = 0; i < 9; ++i) end("gpt-4o", i);
  EXPECT_EQ(store.Health().warning, "");
  end("gpt-4o", 9);
  EXPECT_NE(store.Health().warning.find("WEIR_QUOTA_MAX_RESERVATIONS"), std::string::npos);
  EXPECT_FALSE(hold("gpt-4o", 0).again) << "the model's oldest goes first";
  EXPECT_TRUE(hold("gpt-4o", 1).again);
  EXPECT_TRUE(hold("other", 0).again);
  clock.Advance(std::chrono::minutes(10));
  EXPECT_EQ(store.Health().warning, "");
}

TEST(MemoryQuotaStore, BoundsWindowBytesButNotMinutesOfModelsWithAQuota) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({.max_entry_bytes = 1}, clock);
  const TierCharge tier{"user:a", {.amount = 100, .per = hours(1)}};
  const auto take = [&](std::string_view model, const ModelQuota* quota) {
    Charge charge{.model = model, .mode = Mode::kTake, .tiers = {&tier, 1}};
    if (quota != nullptr) charge.default_quota = *quota;
    return store.Run(charge);
  };
  const ModelQuota quota{.max_rpm = 1000};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(take("known", &quota).fits());
    ASSERT_TRUE(take("unknown", nullptr).fits());
    clock.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(store.Export().value().at("known").requests.size(), 100U);
  EXPECT_LE(store.Export().value().at("unknown").requests.size(), WindowLog::kFreeEntries);
  EXPECT_EQ(store.Run(Charge{.model = "unknown", .requests = 0}).usage.rpm, 100);
  EXPECT_EQ(take("known", &quota).retry_after, hours(1) - seconds(10)) << "the first leaves when its hour is over";
}

TEST(MemoryQuotaStore, TheMinuteOfAModelThatGetsAQuotaIsExact) {
  for (const bool by_charge : {false, true}) {
    ManualWallClock clock(kStart);
    MemoryQuotaStore store({.max_entry_bytes = 1}, clock);
    const ModelQuota quota{.max_rpm = 1000};
    Charge charge{.model = "gpt-4o", .mode = Mode::kTake};
    const auto take_many = [&] {
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(store.Run(charge).fits());
        clock.Advance(std::chrono::milliseconds(100));
      }
    };
    take_many();
    if (by_charge) {
      charge.default_quota = quota;
    } else {
      ASSERT_TRUE(store.SetQuota("gpt-4o", quota).ok());
    }
    take_many();
    EXPECT_GT(store.Export().value().at("gpt-4o").requests.size(), 100U) << by_charge;
    EXPECT_EQ(store.Run(charge).usage.rpm, 201);
  }
}

TEST(MemoryQuotaStore, ASearchForRoomResumesWhereTheLastOneStopped) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({.max_models = 20'000}, clock);
  const auto take = [&](int i) {
    return store.Run(Charge{.model = "junk-" + std::to_string(i), .mode = Mode::kTake}).code;
  };
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(take(i), QuotaCode::kUnknownModel);
  EXPECT_EQ(take(20'000), QuotaCode::kTooManyNames);
  clock.Advance(kDay);
  EXPECT_EQ(take(20'000), QuotaCode::kUnknownModel);
  for (int i = 30'000; i < 45'000; ++i) ASSERT_NE(take(i), QuotaCode::kTooManyNames) << i;
}

TEST(MemoryQuotaStore, ImportsOddStatesWithoutHarm) {
  ManualWallClock clock(kStart);
  MemoryQuotaStore store({}, clock);
  constexpr int64_t kMost64 = std::numeric_limits<int64_t>::max();
  const QuotaState state = {
      {"odd",
       {.requests = {{kStart + hours(1), 5}, {WallTime::min(), 1}, {kStart, -7}, {kStart - seconds(5), kMost64}},
        .tokens = {{WallTime::max(), kMost64}, {kStart, kMost64}},
        .day_start = WallTime::max(),
        .day_count = kMost64}},
      {"older", {.day_start = WallTime::min(), .day_count = -5}},
  };
  ASSERT_TRUE(store.Import(state).ok());
  const ModelUsage usage = store.Run(Charge{.model = "odd", .requests = 0}).usage;
  EXPECT_EQ(usage, (ModelUsage{.rpm = kMostAmount, .tpm = kMostAmount, .rpd = kMostAmount, .day_start = kStart}));
  clock.Advance(kMinute);
  EXPECT_EQ(store.Run(Charge{.model = "odd", .requests = 0}).usage.rpm, 0);
  EXPECT_EQ(store.Models().value(), std::vector<std::string>{"odd"});
}

TEST(MemoryQuotaStore, SharesALimitOfManyModelsAmongManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 4000;
  constexpr int64_t kLimit = 1500;
  MemoryQuotaStore store;
  const Limit limit{.amount = kLimit, .per = hours(1)};
  std::array<std::atomic<int64_t>, 3> taken{};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        const TierCharge tier{"all", limit};
        for (int i = 0; i < kCalls; ++i) {
          const int model = (i + t) % 3;
          if (i % 100 == 0) store.Prune();
          const std::string name = "model-" + std::to_string(model);
          if (store.Run(Charge{.model = name, .mode = Mode::kTake, .tiers = {&tier, 1}}).fits()) ++taken.at(model);
        }
      });
  }
  for (int model = 0; model < 3; ++model) {
    const TierCharge tier{"all", limit};
    const std::string name = "model-" + std::to_string(model);
    const ChargeAnswer answer = store.Run(Charge{.model = name, .requests = 0, .tiers = {&tier, 1}});
    EXPECT_EQ(taken.at(model), kLimit);
    EXPECT_EQ(answer.tiers.at(0).used, kLimit);
    EXPECT_EQ(answer.usage.rpd, kLimit);
  }
}

}  // namespace
}  // namespace weir
