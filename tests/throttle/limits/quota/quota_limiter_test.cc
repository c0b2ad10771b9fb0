// The limiter's decisions from the store's answers: policies, reasons, shadow, observers.
#include "throttle/limits/quota/quota_limiter.h"

#include <gtest/gtest.h>

#include <memory>

#include "config/manual_clock.h"
#include "tests/throttle/limits/quota/scripted_store.h"
#include "throttle/limits/quota/memory_store.h"
#include "throttle/limits/quota/quota_reasons.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Call = QuotaObserver::Call;
using Mode = Charge::Mode;

const WallTime kStart{std::chrono::seconds(1'771'597'921)};
const ModelQuota kQuota{.max_rpm = 3, .max_tpm = 1000, .max_rpd = 5};

class Observer final : public QuotaObserver {
 public:
  void OnDecision(Call call, std::string_view model_class, const Decision& decision) override {
    decisions.push_back({call, std::string(model_class), decision.code, decision.allowed});
  }
  void OnSettled(const Settled& settled, bool refund) override { settlements.emplace_back(settled.code, refund); }
  void OnStoreAnswer(Duration latency, bool available) override { answers.emplace_back(latency, available); }

  struct Seen {
    Call call;
    std::string model_class;
    QuotaCode code;
    bool allowed;
  };
  std::vector<Seen> decisions;
  std::vector<std::pair<Settled::Code, bool>> settlements;
  std::vector<std::pair<Duration, bool>> answers;
};

QuotaConfig WithQuota(const ModelQuota& quota = kQuota) { return {.quotas = {{"m", quota}}}; }

TEST(QuotaLimiter, AReservationIsCountedAndSettledWithItsActualUse) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaLimiter limiter(store, WithQuota());
  const Decision d = limiter.Reserve({.model = "m", .tokens = 900});
  ASSERT_TRUE(d.allowed) << d.reason;
  EXPECT_EQ(d.code, QuotaCode::kOk);
  EXPECT_EQ(d.reason, "");
  EXPECT_EQ(d.quota, kQuota);
  EXPECT_FALSE(d.retry_after);
  EXPECT_FALSE(limiter.CanSend("m", 200));
  EXPECT_TRUE(limiter.CanSend("m", 100));
  const Settled s = limiter.Commit(d.reservation, 300, 200);
  ASSERT_TRUE(s.ok()) << s.reason;
  EXPECT_EQ(s.model, "m");
  EXPECT_EQ(s.reserved_tokens, 900);
  EXPECT_EQ(s.actual_tokens, 500);
  const auto stats = limiter.Stats("m");
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats.value().usage.rpm, 1);
  EXPECT_EQ(stats.value().usage.tpm, 500);
  EXPECT_EQ(stats.value().usage.open_reservations, 0);
  EXPECT_TRUE(limiter.Commit(d.reservation, 300, 200).again);
  const Settled other = limiter.Commit(d.reservation, 1);
  EXPECT_EQ(other.code, Settled::Code::kSettledOtherwise);
  EXPECT_EQ(other.reason,
            "the reservation was committed with 500 tokens, and stays so; what was used beyond is counted if it is "
            "recorded");

  const Decision again = limiter.Reserve({.model = "m", .tokens = 400});
  ASSERT_TRUE(again.allowed);
  EXPECT_TRUE(limiter.Refund(again.reservation).ok());
  EXPECT_EQ(limiter.Stats("m").value().usage.rpm, 1);
}

TEST(QuotaLimiter, DecideChargesNothingAndTakeCharges) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaLimiter limiter(store, WithQuota());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter.Decide({.model = "m", .tokens = 1000}).allowed);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.Take({.model = "m", .tokens = 1}).allowed);
  const Decision refused = limiter.Take({.model = "m", .tokens = 1});
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.code, QuotaCode::kRpmExceeded);
  EXPECT_EQ(refused.retry_after, Duration(60s));
  EXPECT_EQ(refused.reason, "m: 3 of 3 requests in the last minute; try again in 1 min");
  wall.Advance(Duration(60s));
  EXPECT_TRUE(limiter.Take({.model = "m", .tokens = 1}).allowed);
}

TEST(QuotaLimiter, RecordUsageCountsEvenBeyondTheLimits) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaLimiter limiter(store, WithQuota());
  EXPECT_EQ(limiter.RecordUsage("m", 700, 200).code, QuotaCode::kOk);
  const Decision over = limiter.RecordUsage("m", 700, 200);
  EXPECT_TRUE(over.allowed);
  EXPECT_FALSE(over.shadowed);
  EXPECT_EQ(over.code, QuotaCode::kTpmExceeded);
  EXPECT_FALSE(over.retry_after);
  EXPECT_EQ(limiter.Stats("m").value().usage.tpm, 1800);
}

TEST(QuotaLimiter, MalformedRequestsDoNotReachTheStore) {
  ScriptedStore store;
  QuotaLimiter limiter(store, {.shadow = true});
  struct Case {
    QuotaRequest request;
    QuotaCode code;
    std::string_view reason;
  };
  const std::string long_name(10'240, 'x');
  const Case cases[] = {
      {{.model = "m", .tokens = -5}, QuotaCode::kInvalidTokens, "m: -5 tokens; they cannot be negative"},
      {{.model = "gemini-2.5-pro", .tokens = INT64_MIN}, QuotaCode::kInvalidTokens, "cannot be negative"},
      {{.model = ""}, QuotaCode::kInvalidName, "model"},
      {{.model = long_name}, QuotaCode::kInvalidName, "model"},
      {{.model = "a\nb"}, QuotaCode::kInvalidName, "model"},
      {{.model = "m", .requester = {.user = long_name}}, QuotaCode::kInvalidName, "user"},
      {{.model = "m", .requester = {.tenant = "\x01"}}, QuotaCode::kInvalidName, "tenant"},
      {{.model = "m", .requester = {.api_key = "\xff"}}, QuotaCode::kInvalidName, "API key"},
      {{.model = "m", .requester = {.instance = long_name}}, QuotaCode::kInvalidName, "instance"},
      {{.model = "m", .requester = {.qos = "gold"}},
       QuotaCode::kInvalidName,
       "QoS class \"gold\": there is no such class, there are premium, standard, free"},
  };
  for (const Case& c : cases) {
    for (const auto call : {&QuotaLimiter::Decide, &QuotaLimiter::Take, &QuotaLimiter::Reserve}) {
      const Decision d = (limiter.*call)(c.request);
      EXPECT_FALSE(d.allowed);
      EXPECT_EQ(d.code, c.code);
      EXPECT_NE(d.reason.find(c.reason), std::string::npos) << d.reason;
      EXPECT_LT(d.reason.size(), 200U);
      EXPECT_FALSE(d.retry_after);
    }
  }
  EXPECT_EQ(limiter.RecordUsage("m", -1, 5).code, QuotaCode::kInvalidTokens);
  EXPECT_EQ(limiter.RecordUsage("m", 5, -1).code, QuotaCode::kInvalidTokens);
  EXPECT_EQ(limiter.Commit("id@m", -1).code, Settled::Code::kInvalidTokens);
  EXPECT_EQ(limiter.Commit("id@m", 5, -1).code, Settled::Code::kInvalidTokens);
  EXPECT_EQ(limiter.Refund("").code, Settled::Code::kUnknownReservation);
  EXPECT_EQ(limiter.Refund(long_name).code, Settled::Code::kUnknownReservation);
  EXPECT_FALSE(limiter.Stats("").ok());
  EXPECT_FALSE(limiter.Reset("").ok());
  EXPECT_FALSE(limiter.SetQuota("m", {.max_rpm = -1}).ok());
  EXPECT_FALSE(limiter.SetQuota(long_name, kQuota).ok());
  EXPECT_TRUE(store.asked.empty());
  EXPECT_TRUE(store.settled.empty());
  EXPECT_TRUE(store.calls.empty());
}

TEST(QuotaLimiter, AmountsAreCutDownToTheMost) {
  ScriptedStore store;
  QuotaLimiter limiter(store);
  limiter.Decide({.model = "m", .tokens = INT64_MAX});
  EXPECT_EQ(store.asked.back().charge.tokens, kMostAmount);
  limiter.RecordUsage("m", INT64_MAX, INT64_MAX);
  EXPECT_EQ(store.asked.back().charge.tokens, kMostAmount);
  limiter.Commit("id@m", INT64_MAX, 1);
  EXPECT_EQ(store.settled.back().second, kMostAmount);
  ASSERT_TRUE(limiter.SetQuota("m", {.max_rpm = INT64_MAX}).ok());
  EXPECT_EQ(store.quotas.at("m").max_rpm, kMostAmount);
}

TEST(QuotaLimiter, EachCallChargesInItsMode) {
  ScriptedStore store;
  const auto modes = [&](bool shadow) {
    QuotaLimiter limiter(store, {.shadow = shadow});
    store.asked.clear();
    limiter.Decide({.model = "m"});
    limiter.Explain({.model = "m"});
    limiter.Take({.model = "m"});
    limiter.Reserve({.model = "m"});
    limiter.RecordUsage("m", 1, 1);
    std::vector<Mode> found;
    for (const auto& a : store.asked) found.push_back(a.charge.mode);
    return found;
  };
  EXPECT_EQ(modes(false), (std::vector{Mode::kPeek, Mode::kPeek, Mode::kTake, Mode::kHold, Mode::kForce}));
  EXPECT_EQ(modes(true), (std::vector{Mode::kPeek, Mode::kPeek, Mode::kForce, Mode::kForceHold, Mode::kForce}));
}

TEST(QuotaLimiter, AReservationLivesAsLongAsTheCallOrConfigurationSays) {
  ScriptedStore store;
  QuotaLimiter limiter(store, {.reservation_ttl = 90s});
  const auto ttl = [&](std::optional<Duration> asked) {
    limiter.Reserve({.model = "m", .reservation_ttl = asked});
    return store.asked.back().charge.hold_for;
  };
  EXPECT_EQ(ttl({}), Duration(90s));
  EXPECT_EQ(ttl(Duration(5s)), Duration(5s));
  EXPECT_EQ(ttl(Duration(1ms)), Duration(1s));
  EXPECT_EQ(ttl(Duration(-1h)), Duration(1s));
  EXPECT_EQ(ttl(Duration(1000h)), Duration(24h));
}

TEST(QuotaLimiter, UnknownModelsGoByThePolicy) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaLimiter allows(store);
  Decision d = allows.Reserve({.model = "new", .tokens = 5});
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kUnknownModel);
  EXPECT_EQ(d.reason, "no quota known");
  EXPECT_FALSE(d.quota);
  EXPECT_TRUE(allows.Commit(d.reservation, 7).ok());
  EXPECT_EQ(allows.Stats("new").value().usage.tpm, 7);

  QuotaLimiter refuses(store, {.unknown_models = UnknownModels::kRefuse});
  d = refuses.Reserve({.model = "new", .tokens = 5});
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kUnknownModel);
  EXPECT_EQ(d.reason, "new: no quota is known for this model, and unknown models are refused");
  EXPECT_FALSE(d.retry_after);
  EXPECT_EQ(d.reservation, "");
  EXPECT_EQ(refuses.Stats("new").value().usage.tpm, 7);
  // Usage that has happened is recorded in any case.
  d = refuses.RecordUsage("new", 1, 2);
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.reason, "no quota known");
  EXPECT_EQ(refuses.Stats("new").value().usage.tpm, 10);
}

TEST(QuotaLimiter, AModelWithoutLimitsIsCounted) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaLimiter limiter(store);
  const Decision d = limiter.Reserve({.model = "gemini-2.0-flash-lite", .tokens = 1'000'000'000});
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kUnlimited);
  EXPECT_EQ(d.reason, "not limited");
  EXPECT_TRUE(limiter.Commit(d.reservation, 3).ok());
  EXPECT_EQ(limiter.Stats("gemini-2.0-flash-lite").value().usage.tpm, 3);
}

TEST(QuotaLimiter, WhenTheStoreIsAwayThePolicyDecides) {
  ScriptedStore store;
  store.away = true;
  QuotaLimiter closed(store);
  QuotaLimiter open(store, {.when_store_away = WhenStoreAway::kAllow});
  Decision d = closed.Reserve({.model = "m"});
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(d.reason, "the store of the quotas does not answer: connection refused");
  EXPECT_FALSE(closed.RecordUsage("m", 1, 1).allowed);
  EXPECT_EQ(closed.Commit("id@m", 1).code, Settled::Code::kStoreUnavailable);
  EXPECT_FALSE(closed.Stats("m").ok());
  EXPECT_FALSE(closed.AllStats().ok());

  d = open.Reserve({.model = "m"});
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kStoreUnavailable);
  EXPECT_EQ(d.reservation, "");
  EXPECT_FALSE(d.shadowed);
  EXPECT_FALSE(open.RecordUsage("m", 1, 1).allowed) << "it was not counted";
  EXPECT_EQ(open.Refund("id@m").code, Settled::Code::kStoreUnavailable);

  QuotaLimiter shadow(store, {.shadow = true});
  d = shadow.Take({.model = "m"});
  EXPECT_TRUE(d.allowed);
  EXPECT_TRUE(d.shadowed);
}

TEST(QuotaLimiter, ShadowRefusesNothingAndCountsTheRealUsage) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({}, wall);
  QuotaConfig config = WithQuota();
  config.shadow = true;
  QuotaLimiter limiter(store, config);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter.Take({.model = "m", .tokens = 1}).shadowed);
  EXPECT_TRUE(limiter.Decide({.model = "m"}).shadowed);
  const Decision d = limiter.Reserve({.model = "m", .tokens = 5000});
  EXPECT_TRUE(d.allowed);
  EXPECT_TRUE(d.shadowed);
  EXPECT_EQ(d.code, QuotaCode::kTooLarge);
  EXPECT_FALSE(d.retry_after);
  ASSERT_NE(d.reservation, "");
  EXPECT_EQ(limiter.Stats("m").value().usage.tpm, 5003);
  EXPECT_TRUE(limiter.Commit(d.reservation, 10).ok());
  EXPECT_EQ(limiter.Stats("m").value().usage.tpm, 13);
  EXPECT_EQ(limiter.Stats("m").value().usage.rpm, 4);
}

TEST(QuotaLimiter, TooManyNamesAreRefused) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({.max_models = 2}, wall);
  QuotaLimiter limiter(store);
  EXPECT_TRUE(limiter.Take({.model = "a"}).allowed);
  EXPECT_TRUE(limiter.Take({.model = "b"}).allowed);
  const Decision d = limiter.Take({.model = "c"});
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.code, QuotaCode::kTooManyNames);
  EXPECT_NE(d.reason.find("too many names or open reservations"), std::string::npos);
  EXPECT_FALSE(limiter.RecordUsage("c", 1, 1).allowed);
}

TEST(QuotaLimiter, AnInventorOfNamesLocksOutOnlyItselfAndIsLogged) {
  ManualWallClock wall(kStart);
  MemoryQuotaStore store({.max_models = 1000}, wall);
  ManualClock clock;
  QuotaLimiter limiter(store, {}, clock);
  const auto take = [&](const std::string& model, std::string_view address) {
    return limiter.Take({.model = model, .requester = {.address = address}}).code;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(take("honest " + std::to_string(i), "10.0.0.1"), QuotaCode::kUnknownModel);
  int invented = 0;
  while (take("invented " + std::to_string(invented), "10.6.6.6") != QuotaCode::kTooManyNames) ++invented;
  EXPECT_EQ(invented, 895);
  for (int i = 5; i < 9; ++i) EXPECT_EQ(take("honest " + std::to_string(i), "10.0.0.1"), QuotaCode::kUnknownModel);
  EXPECT_EQ(take("invented 3", "10.6.6.6"), QuotaCode::kUnknownModel) << "it is there";
  EXPECT_EQ(take("one more", "10.6.6.6"), QuotaCode::kTooManyNames);
  const auto warnings = limiter.StateQuotas();
  ASSERT_EQ(warnings.value().size(), 1U);
  EXPECT_TRUE(warnings.value()[0].starts_with("address 10.6.6.6 began 895 of the 900 names")) << warnings.value()[0];
  EXPECT_TRUE(limiter.StateQuotas().value().empty()) << "once";
  wall.Advance(std::chrono::hours(24));
  clock.Advance(std::chrono::hours(24));
  store.Prune();
  EXPECT_EQ(take("another day", "10.6.6.6"), QuotaCode::kUnknownModel);
}

TEST(QuotaLimiter, ReasonsNameTheLimitItsUseAndTheRetry) {
  struct Case {
    ChargeAnswer answer;
    std::string_view reason;
  };
  const ModelQuota quota{.max_rpm = 500, .max_tpm = 30'000, .max_rpd = 1000};
  const ModelUsage usage{.rpm = 500, .tpm = 29'500, .rpd = 1000};
  const Case cases[] = {
      {{.code = QuotaCode::kRpdExceeded, .retry_after = Duration(5h + 1s), .quota = quota, .usage = usage},
       "gpt-4o: 1000 of 1000 requests in the current 24 hours; try again in 5 h 1 min"},
      {{.code = QuotaCode::kRpmExceeded, .retry_after = Duration(11'000'000'001), .quota = quota, .usage = usage},
       "gpt-4o: 500 of 500 requests in the last minute; try again in 12 s"},
      {{.code = QuotaCode::kTpmExceeded, .retry_after = Duration(250ms), .quota = quota, .usage = usage},
       "gpt-4o: 29500 of 30000 tokens in the last minute, and 900 more asked for; try again in 0.3 s"},
      {{.code = QuotaCode::kTooLarge, .quota = quota, .usage = usage},
       "gpt-4o: 900 tokens at once can never be allowed: the limit is 30000 in a minute"},
      {{.code = QuotaCode::kOk}, ""},
  };
  for (const Case& c : cases) EXPECT_EQ(ReasonOf("gpt-4o", {.tokens = 900}, nullptr, c.answer), c.reason);
}

TEST(QuotaLimiter, TheObserverSeesEveryCall) {
  ScriptedStore store;
  Observer observer;
  ManualClock clock;
  QuotaConfig config;
  config.tiers.model_classes = {{.name = "large", .models = {"m"}, .limits = {}}};
  QuotaLimiter limiter(store, config, clock, &observer);
  limiter.Decide({.model = "m"});
  limiter.Take({.model = "other model"});
  limiter.Reserve({.model = "m", .tokens = -1});
  limiter.RecordUsage("m", 1, 1);
  limiter.Explain({.model = "m"});
  limiter.Commit("id@m", 5);
  limiter.Refund("");
  ASSERT_EQ(observer.decisions.size(), 5U);
  EXPECT_EQ(observer.decisions[0].call, Call::kDecide);
  EXPECT_EQ(observer.decisions[0].model_class, "large");
  EXPECT_EQ(observer.decisions[1].model_class, "other");
  EXPECT_EQ(observer.decisions[2].code, QuotaCode::kInvalidTokens);
  EXPECT_EQ(observer.decisions[3].call, Call::kRecord);
  EXPECT_EQ(observer.decisions[4].call, Call::kExplain);
  using Settlements = std::vector<std::pair<Settled::Code, bool>>;
  EXPECT_EQ(observer.settlements,
            (Settlements{{Settled::Code::kSettled, false}, {Settled::Code::kUnknownReservation, true}}));
  EXPECT_TRUE(observer.answers.empty()) << "memory is not timed";

  store.pace_now = QuotaStore::Pace::kBlocks;
  limiter.Decide({.model = "m"});
  store.away = true;
  limiter.Commit("id@m", 5);
  using Answers = std::vector<std::pair<Duration, bool>>;
  EXPECT_EQ(observer.answers, (Answers{{Duration(0), true}, {Duration(0), false}}));
}

}  // namespace
}  // namespace weir
