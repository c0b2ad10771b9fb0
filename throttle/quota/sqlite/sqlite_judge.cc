#include "throttle/quota/sqlite/sqlite_judge.h"

#include <algorithm>

#include "throttle/quota/charge_amounts.h"

namespace weir {
namespace {

class Hearing {
 public:
  Hearing(const Charge& charge, const SqliteModel& model, const SqliteTierRows& tiers, int64_t now,
          SqliteModels& models)
      : charge_(charge), model_(model), tiers_(tiers), now_(now), models_(models) {}

  void HearTier(size_t index) {
    const Limit& limit = charge_.tiers[index].limit;
    const int64_t amount = AmountOf(charge_, limit.unit);
    if (amount == 0) return;
    if (amount > std::min(kMostAmount, MostAtOnce(limit))) return TooLarge(limit.unit, index);
    const SqliteTier& tier = tiers_[index];
    if (!tier.Fits(amount, limit))
      Refuse(QuotaCode::kTierExceeded, models_.tiers.WaitFor(tier, now_, amount, limit), index);
  }

  void HearModel(const ModelQuota& quota) {
    if (charge_.requests > 0) {
      if (quota.max_rpd > 0 && model_.day_count + charge_.requests > quota.max_rpd)
        Refuse(QuotaCode::kRpdExceeded, model_.day_start + kDay.count() - now_, {});
      HearLog(model_.requests, models_.requests, charge_.requests, quota.max_rpm, QuotaCode::kRpmExceeded);
    }
    const int64_t max_tpm = std::min(kMostAmount, quota.max_tpm);
    if (max_tpm > 0 && charge_.tokens > max_tpm) return TooLarge(Limit::Unit::kTokens, {});
    if (charge_.tokens > 0) HearLog(model_.tokens, models_.tokens, charge_.tokens, max_tpm, QuotaCode::kTpmExceeded);
  }

  SqliteVerdict Decide(const std::optional<ModelQuota>& quota) {
    if (!verdict_.fits()) return verdict_;
    verdict_.code = !quota ? QuotaCode::kUnknownModel : quota->unlimited() ? QuotaCode::kUnlimited : QuotaCode::kOk;
    return verdict_;
  }

 private:
  void HearLog(const SqliteLogState& state, SqliteLog& log, int64_t amount, int64_t limit, QuotaCode code) {
    const int64_t over = state.sum + amount - limit;
    if (limit > 0 && over > 0) Refuse(code, log.WhenFreed(charge_.model, over) - now_, {});
  }

  void Refuse(QuotaCode code, int64_t wait, std::optional<size_t> tier) {
    if (verdict_.code == QuotaCode::kTooLarge) return;
    if (verdict_.fits()) verdict_ = {.code = code, .tier = tier};
    const Duration needed(std::max<int64_t>(1, wait));
    verdict_.retry_after = std::max(verdict_.retry_after.value_or(needed), needed);
  }

  void TooLarge(Limit::Unit unit, std::optional<size_t> tier) {
    if (verdict_.code != QuotaCode::kTooLarge) verdict_ = {.code = QuotaCode::kTooLarge, .tier = tier, .unit = unit};
  }

  const Charge& charge_;
  const SqliteModel& model_;
  const SqliteTierRows& tiers_;
  const int64_t now_;
  SqliteModels& models_;
  SqliteVerdict verdict_;
};

}  // namespace

SqliteVerdict JudgeSqlite(const Charge& charge, const std::optional<ModelQuota>& quota, const SqliteModel& model,
                          const SqliteTierRows& tiers, int64_t now, SqliteModels& models) {
  Hearing hearing(charge, model, tiers, now, models);
  const size_t before = std::min(charge.tiers_before_model, charge.tiers.size());
  for (size_t tier = 0; tier < before; ++tier) hearing.HearTier(tier);
  if (quota) hearing.HearModel(*quota);
  for (size_t tier = before; tier < charge.tiers.size(); ++tier) hearing.HearTier(tier);
  return hearing.Decide(quota);
}

}  // namespace weir
