#include "throttle/quota/judge.h"

#include <algorithm>

#include "throttle/quota/charge_amounts.h"

namespace weir {
namespace {

class Bench {
 public:
  Bench(const Charge& charge, const ModelCounts* counts, const std::vector<Meter*>& meters, WallTime now,
        Verdict& verdict)
      : charge_(charge), counts_(counts), meters_(meters), now_(now), verdict_(verdict) {}

  void HearTier(size_t tier) {
    const Limit& limit = charge_.tiers[tier].limit;
    const int64_t amount = AmountOf(charge_, limit.unit);
    if (amount == 0) return;
    if (amount > std::min(kMostAmount, MostAtOnce(limit))) return TooLarge(limit.unit, tier);
    if (const Meter* meter = meters_[tier]) return HearMeter(*meter, amount, limit, tier);
    if (limit.kind == Limit::Kind::kBucket) HearMeter(Meter(limit, now_), amount, limit, tier);
  }

  void HearModel(const ModelQuota& quota) {
    if (charge_.requests > 0 && counts_) {
      const DayCount& day = counts_->day();
      if (quota.max_rpd > 0 && day.count() + charge_.requests > quota.max_rpd)
        Refuse(QuotaCode::kRpdExceeded, day.UntilEnd(now_), {});
      if (quota.max_rpm > 0) HearLog(counts_->requests(), charge_.requests, quota.max_rpm, QuotaCode::kRpmExceeded);
    }
    if (charge_.tokens == 0 || quota.max_tpm == 0) return;
    const int64_t max_tpm = std::min(kMostAmount, quota.max_tpm);
    if (charge_.tokens > max_tpm) return TooLarge(Limit::Unit::kTokens, {});
    if (counts_) HearLog(counts_->tokens(), charge_.tokens, max_tpm, QuotaCode::kTpmExceeded);
  }

  void Conclude(const std::optional<ModelQuota>& quota) {
    if (!verdict_.fits()) return;
    if (!quota) verdict_.code = QuotaCode::kUnknownModel;
    if (quota && quota->unlimited()) verdict_.code = QuotaCode::kUnlimited;
  }

 private:
  void HearMeter(const Meter& meter, int64_t amount, const Limit& limit, size_t tier) {
    if (!meter.Fits(amount, limit)) Refuse(QuotaCode::kTierExceeded, meter.UntilFits(now_, amount, limit), tier);
  }

  void HearLog(const WindowLog& log, int64_t amount, int64_t limit, QuotaCode code) {
    if (log.used() + amount > limit) Refuse(code, log.UntilFits(now_, amount, limit), {});
  }

  void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier) {
    if (verdict_.code == QuotaCode::kTooLarge) return;
    if (verdict_.fits()) verdict_ = {.code = code, .tier = tier};
    verdict_.retry_after = std::max(verdict_.retry_after.value_or(wait), wait);
  }

  void TooLarge(Limit::Unit unit, std::optional<size_t> tier) {
    if (verdict_.code != QuotaCode::kTooLarge) verdict_ = {.code = QuotaCode::kTooLarge, .tier = tier, .unit = unit};
  }

  const Charge& charge_;
  const ModelCounts* counts_;
  const std::vector<Meter*>& meters_;
  const WallTime now_;
  Verdict& verdict_;
};

}  // namespace

Verdict Judge(const Charge& charge, const std::optional<ModelQuota>& quota, const ModelCounts* counts,
              const std::vector<Meter*>& meters, WallTime now) {
  Verdict verdict;
  Bench bench(charge, counts, meters, now, verdict);
  const size_t before = std::min(charge.tiers_before_model, charge.tiers.size());
  for (size_t tier = 0; tier < before; ++tier) bench.HearTier(tier);
  if (quota) bench.HearModel(*quota);
  for (size_t tier = before; tier < charge.tiers.size(); ++tier) bench.HearTier(tier);
  bench.Conclude(quota);
  return verdict;
}

}  // namespace weir
