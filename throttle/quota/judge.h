// Judge: decides by the limits whether a charge (quota_store.h) fits. All stores that decide in this process use it:
// memory, YAML and SQLite. (Redis decides in a Lua script, redis_script.h, in the same way.) It fixes in which order
// the limits are checked and which code the answer gets, and finds the time after which the charge would pass all
// limits.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>

#include "throttle/quota/charge_amounts.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Notes in `answer` that a limit refuses the charge for now. Sets `code` and `tier` if no limit has refused before, so
// that the answer names the first one. Raises `retry_after` to `wait` (at least 1 ns) if it was shorter, so that it
// ends up as the longest wait. Does nothing if `code` is kTooLarge. `tier` is the index of the tier in Charge::tiers;
// empty: the limit is one of the model's own quota.
void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier, ChargeAnswer* answer);
// Notes in `answer` that the charge asks for more than a limit can ever allow. Sets `code` to kTooLarge, sets `tier`
// and `unit`, and clears `retry_after`; so it replaces what Refuse has noted. Does nothing if `code` is kTooLarge
// already, so that the first such limit is named.
void RefuseTooLarge(Limit::Unit unit, std::optional<size_t> tier, ChargeAnswer* answer);

// The counters that a store has for a charge's model and tiers, as of now. UsedIn… return the amount that counts;
// TierFits returns whether `amount` more fits. Until… return the time until the day is over, or until `amount` fits if
// nothing else comes. Judge calls an Until… function only if the amount does not fit now and is not larger than the
// limit, and never calls UntilTierFits for limits of calls.
template <typename Counts>
concept CountsOfCharge = requires(const Counts& counts, Limit::Unit unit, int64_t amount, size_t tier, Limit limit) {
  { counts.UsedInDay() } -> std::same_as<int64_t>;
  { counts.UntilDayEnds() } -> std::same_as<Duration>;
  { counts.UsedInMinute(unit) } -> std::same_as<int64_t>;
  { counts.UntilMinuteFits(unit, amount, /*limit*/ amount) } -> std::same_as<Duration>;
  { counts.TierFits(tier, amount, limit) } -> std::same_as<bool>;
  { counts.UntilTierFits(tier, amount, limit) } -> std::same_as<Duration>;
};

// Checks one tier.
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

// Checks the model's own quota: its day, then requests and tokens of the minute.
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

// Checks all limits and sets `code`, `tier`, `unit` and `retry_after` of `answer`, which must have their initial values
// before the call. Reads and changes no other field. If everything fits, `code` is kOk, or kUnknownModel without a
// `quota`, or kUnlimited for a quota without limits.
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
