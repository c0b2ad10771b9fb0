#include "tests/throttle/limits/quota/store_suite.h"

namespace weir {

using std::chrono::seconds;

Limit Window(Limit::Unit unit, int64_t amount, Duration per) {
  return {.unit = unit, .kind = Limit::Kind::kWindow, .amount = amount, .per = per};
}

Limit Day(Limit::Unit unit, int64_t amount, WallTime ends) {
  const Duration since_1970 = ends.time_since_epoch();
  return {.unit = unit,
          .kind = Limit::Kind::kCalendarDay,
          .amount = amount,
          .per = since_1970,
          .date = std::chrono::floor<std::chrono::hours>(since_1970).count()};
}

Limit Bucket(Limit::Unit unit, int64_t amount, Duration per, int64_t burst) {
  return {.unit = unit, .kind = Limit::Kind::kBucket, .amount = amount, .per = per, .burst = burst};
}

void QuotaStoreSuite::Open(const StoreBounds& bounds) {
  tested_ = {};
  tested_ = GetParam().open(clock_, bounds);
  ASSERT_TRUE(tested_.store);
}

ChargeAnswer QuotaStoreSuite::Run(Charge::Mode mode, std::string_view model, const Ask& ask) {
  const bool is_over_at_once = mode == Charge::Mode::kTake || mode == Charge::Mode::kForce;
  return store().Run(Charge{
      .model = model,
      .mode = mode,
      .requests = ask.requests,
      .tokens = ask.tokens,
      .money = ask.money,
      .tiers = ask.tiers,
      .tiers_before_model = ask.tiers_before_model,
      .default_quota = ask.quota,
      .refuse_unknown = ask.refuse_unknown,
      .hold_for = ask.hold_for,
      .token = ask.token ? &*ask.token : nullptr,
      .is_call = ask.is_call && !is_over_at_once,
  });
}

SettlementAnswer QuotaStoreSuite::Commit(std::string_view reservation, int64_t tokens, int64_t money) {
  return store().Run(Settlement{.reservation = reservation, .tokens = tokens, .money = money});
}

SettlementAnswer QuotaStoreSuite::CommitSoFar(std::string_view reservation, int64_t tokens, int64_t money) {
  return store().Run(Settlement{.reservation = reservation, .tokens = tokens, .extend = seconds(10), .money = money});
}

SettlementAnswer QuotaStoreSuite::Refund(std::string_view reservation) {
  return store().Run(Settlement{.reservation = reservation, .tokens = {}});
}

SettlementAnswer QuotaStoreSuite::Extend(std::string_view reservation, Duration by) {
  return store().Run(Settlement{.reservation = reservation, .tokens = {}, .extend = by});
}

ModelUsage QuotaStoreSuite::UsageOf(std::string_view model) { return Peek(model, {.requests = 0}).usage; }

int64_t QuotaStoreSuite::UsedOf(std::string_view model, const TierCharge& tier) {
  return Peek(model, {.requests = 0, .tiers = {tier}}).tiers.at(0).used;
}

void QuotaStoreSuite::ExpectFitsAfterRetry(std::string_view model, const Ask& ask) {
  const ChargeAnswer refused = Peek(model, ask);
  ASSERT_FALSE(refused.fits());
  ASSERT_TRUE(refused.retry_after);
  ASSERT_GT(*refused.retry_after, Duration::zero());
  clock_.Advance(*refused.retry_after - GetParam().resolution);
  EXPECT_FALSE(Peek(model, ask).fits()) << "fits before " << refused.retry_after->count() << " ns";
  clock_.Advance(GetParam().resolution);
  EXPECT_TRUE(Peek(model, ask).fits()) << "does not fit after " << refused.retry_after->count() << " ns";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuotaStoreSuite);

}  // namespace weir
