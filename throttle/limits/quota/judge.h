// Judge: checks a charge (quota_store.h) against all limits, and decides whether it fits. The memory, YAML and SQLite
// stores use it; the Redis store does the same in a Lua script (redis_script.h). Judge determines the order in which
// the limits are checked, the code of the answer, and the time after which the charge would fit all limits.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>

#include "throttle/limits/quota/charge_amounts.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// Records in `answer` that a limit refuses the charge for now. The first limit that refuses sets `code` and `tier`.
// `retry_after` becomes the longest `wait` of all limits that refuse, at least 1 ns. Does nothing if `code` is
// kTooLarge already. `tier` is the index of the limit's tier in Charge::tiers; it is empty for a limit of the model's
// own quota.
void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier, ChargeAnswer* answer);
// Records in `answer` that the charge asks for more than a limit can ever allow. Sets `code` to kTooLarge, sets `tier`
// and `unit`, and clears `retry_after`, so it overwrites what Refuse has recorded. Does nothing if `code` is kTooLarge
// already, so the answer names the first such limit.
void RefuseTooLarge(Limit::Unit unit, std::optional<size_t> tier, ChargeAnswer* answer);

// The counters of a charge's model and tiers, as a store shows them to Judge. UsedInDay and UsedInMinute return the
// amount that counts now; TierFits returns whether `amount` more fits. UntilDayEnds returns the time until the model's
// day ends. UntilMinuteFits and UntilTierFits return the time until `amount` fits if nothing else is charged meanwhile.
// Judge calls the three Until functions only if the amount does not fit now and is not larger than the limit. It never
// calls UntilTierFits for a limit of calls.
template <typename Counts>
concept CountsOfCharge = requires(const Counts& counts, Limit::Unit unit, int64_t amount, size_t tier, Limit limit) {
  { counts.UsedInDay() } -> std::same_as<int64_t>;
  { counts.UntilDayEnds() } -> std::same_as<Duration>;
  { counts.UsedInMinute(unit) } -> std::same_as<int64_t>;
  { counts.UntilMinuteFits(unit, amount, /*limit*/ amount) } -> std::same_as<Duration>;
  { counts.TierFits(tier, amount, limit) } -> std::same_as<bool>;
  { counts.UntilTierFits(tier, amount, limit) } -> std::same_as<Duration>;
};

// Checks one limit of a tier.
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

// Checks the model's own quota: first the requests of the day, then the requests and the tokens of the minute.
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

// Checks all limits, and sets `code`, `tier`, `unit` and `retry_after` of `answer`. REQUIRES: these four fields have
// their initial values. Neither reads nor changes the other fields. If the charge fits all limits, `code` is kOk, or
// kUnknownModel if `quota` is empty, or kUnlimited if `quota` has no limits.
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
