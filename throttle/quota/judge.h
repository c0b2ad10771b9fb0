// Judges a charge by the limits, in one procedure for all stores that decide in this process: it fixes the order of the
// limits and of the codes, and takes the longest of the waits.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>

#include "throttle/quota/charge_amounts.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// The answer names the first limit that refuses; its wait is the longest of all.
void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier, ChargeAnswer* answer);
// Replaces any other refusal.
void RefuseTooLarge(Limit::Unit unit, std::optional<size_t> tier, ChargeAnswer* answer);

// The counts that a store has of a model and of the charge's tiers, as of now. An Until… function is called only if
// `amount` does not fit now and is no more than the limit.
template <typename Counts>
concept CountsOfCharge = requires(const Counts& counts, Limit::Unit unit, int64_t amount, size_t tier, Limit limit) {
  { counts.UsedInDay() } -> std::same_as<int64_t>;
  { counts.UntilDayEnds() } -> std::same_as<Duration>;
  { counts.UsedInMinute(unit) } -> std::same_as<int64_t>;
  { counts.UntilMinuteFits(unit, amount, /*limit*/ amount) } -> std::same_as<Duration>;
  { counts.TierFits(tier, amount, limit) } -> std::same_as<bool>;
  { counts.UntilTierFits(tier, amount, limit) } -> std::same_as<Duration>;
};

template <CountsOfCharge Counts>
void HearTier(const Charge& charge, size_t tier, const Counts& counts, ChargeAnswer* answer) {
  const Limit& limit = charge.tiers[tier].limit;
  const int64_t amount = AmountOf(charge, limit.unit);
  if (amount == 0) return;
  if (amount > std::min(kMostAmount, MostAtOnce(limit))) return RefuseTooLarge(limit.unit, tier, answer);
  if (counts.TierFits(tier, amount, limit)) return;
  const bool of_calls = limit.unit == Limit::Unit::kCalls;
  Refuse(QuotaCode::kTierExceeded, of_calls ? kCallsPause : counts.UntilTierFits(tier, amount, limit), tier, answer);
}

template <CountsOfCharge Counts>
void HearModel(const Charge& charge, const ModelQuota& quota, const Counts& counts, ChargeAnswer* answer) {
  const auto hear_minute = [&](Limit::Unit unit, int64_t amount, int64_t limit, QuotaCode code) {
    if (counts.UsedInMinute(unit) + amount > limit)
      Refuse(code, counts.UntilMinuteFits(unit, amount, limit), {}, answer);
  };
  if (charge.requests > 0) {
    if (quota.max_rpd > 0 && counts.UsedInDay() + charge.requests > quota.max_rpd)
      Refuse(QuotaCode::kRpdExceeded, counts.UntilDayEnds(), {}, answer);
    if (quota.max_rpm > 0) hear_minute(Limit::Unit::kRequests, charge.requests, quota.max_rpm, QuotaCode::kRpmExceeded);
  }
  if (charge.tokens == 0 || quota.max_tpm == 0) return;
  const int64_t max_tpm = std::min(kMostAmount, quota.max_tpm);
  if (charge.tokens > max_tpm) return RefuseTooLarge(Limit::Unit::kTokens, {}, answer);
  hear_minute(Limit::Unit::kTokens, charge.tokens, max_tpm, QuotaCode::kTpmExceeded);
}

// Sets the code, the tier, the unit and the wait of an answer that is still empty.
template <CountsOfCharge Counts>
void Judge(const Charge& charge, const std::optional<ModelQuota>& quota, const Counts& counts, ChargeAnswer* answer) {
  const size_t before = std::min(charge.tiers_before_model, charge.tiers.size());
  for (size_t tier = 0; tier < before; ++tier) HearTier(charge, tier, counts, answer);
  if (quota) HearModel(charge, *quota, counts, answer);
  for (size_t tier = before; tier < charge.tiers.size(); ++tier) HearTier(charge, tier, counts, answer);
  if (!answer->fits()) return;
  if (!quota) answer->code = QuotaCode::kUnknownModel;
  if (quota && quota->unlimited()) answer->code = QuotaCode::kUnlimited;
}

}  // namespace weir
