#include "throttle/limits/quota/quota_reasons.h"

#include "config/text/in_words.h"
#include "config/text/parse.h"

namespace weir {
namespace {

std::string Text(int64_t amount) { return std::to_string(amount); }

std::string Tokens(int64_t count) { return Text(count) + (count == 1 ? " token" : " tokens"); }

// "500 of 500 requests", "29500 of 30000 tokens".
std::string Used(int64_t used, int64_t limit, std::string_view unit) {
  return Text(used) + " of " + Text(limit) + " " + std::string(unit);
}

std::string ModelReason(int64_t tokens, const ChargeAnswer& answer) {
  const ModelQuota quota = answer.quota.value_or(ModelQuota());
  switch (answer.code) {
    case QuotaCode::kRpdExceeded:
      return Used(answer.usage.rpd, quota.max_rpd, "requests in the current 24 hours");
    case QuotaCode::kRpmExceeded:
      return Used(answer.usage.rpm, quota.max_rpm, "requests in the last minute");
    case QuotaCode::kTpmExceeded:
      return Used(answer.usage.tpm, quota.max_tpm,
                  "tokens in the last minute, and " + Text(tokens) + " more asked for");
    default:
      return Tokens(tokens) + " at once can never be allowed: the limit is " + Text(quota.max_tpm) + " in a minute";
  }
}

std::string TierReason(const Amounts& asked, const TierPlan& plan, size_t charge, int64_t used, bool too_large) {
  const Limit& limit = plan.charges()[charge].limit;
  std::string text = "tier " + std::string(NameOf(plan.tier_of(charge)));
  if (plan.tier_of(charge) != Tier::kModel) text += " (" + Printable(plan.party_of(charge)) + ")";
  text += ": ";
  const bool has_amount = limit.unit == Limit::Unit::kTokens || limit.unit == Limit::Unit::kMoney;
  const std::string amount = AmountText(limit.unit, asked.Of(limit.unit));
  if (too_large) {
    return text +
           (limit.unit == Limit::Unit::kTokens ? Tokens(asked.tokens)
            : has_amount                       ? amount
                                               : "one request") +
           " at once can never be allowed: the limit is " + Describe(limit);
  }
  text += limit.kind == Limit::Kind::kBucket
              ? AmountText(limit.unit, used) + " of " + AmountText(limit.unit, limit.burst) + " " +
                    std::string(NameOf(limit.unit)) + " are taken (" + Describe(limit) + ")"
              : AmountText(limit.unit, used) + " of " + Describe(limit);
  if (has_amount) text += ", and " + amount + " more asked for";
  return text;
}

}  // namespace

std::string StoreAwayReason(std::string_view problem) {
  std::string text = "the store of the quotas does not answer";
  if (!problem.empty()) text.append(": ").append(problem);
  return text;
}

std::string ReasonOf(const SettlementAnswer& answer) {
  switch (answer.code) {
    case SettlementAnswer::Code::kSettled:
      return {};
    case SettlementAnswer::Code::kStoreUnavailable:
      return StoreAwayReason(answer.problem);
    case SettlementAnswer::Code::kSettledOtherwise:
      return answer.refunded
                 ? "the reservation was refunded, and stays so; what was used all the same is counted if it "
                   "is recorded"
                 : "the reservation was committed with " + Tokens(answer.actual_tokens) +
                       ", and stays so; what was used beyond is counted if it is recorded";
    case SettlementAnswer::Code::kExpired:
      return "the reservation's time to live was over, and it was given back: commit what the call used, which is "
             "counted late, or reserve anew";
    case SettlementAnswer::Code::kUnknown:
      break;
  }
  return "no such reservation is known: it was never made; or a reset removed it; or the program was restarted with a "
         "store in memory or in a yaml: file, which counts it as used; or it ended long ago (settled reservations are "
         "remembered for " +
         InWords(kSettledKept) + ", expired ones for " + InWords(kExpiredKept) + ")";
}

std::string ReasonOf(std::string_view model, const Amounts& asked, const TierPlan* plan, const ChargeAnswer& answer) {
  switch (answer.code) {
    case QuotaCode::kOk:
      return {};
    // These texts are so short that a std::string needs no heap memory for them: such answers are usually not refusals,
    // and may be frequent.
    case QuotaCode::kUnlimited:
      return "not limited";
    case QuotaCode::kUnknownModel:
      return "no quota known";
    case QuotaCode::kStoreUnavailable:
      return StoreAwayReason(answer.problem);
    case QuotaCode::kTooManyNames:
      return Printable(model) + ": too many names or open reservations, and this would be one more";
    default:
      break;
  }
  std::string text = Printable(model);
  if (answer.tier && plan != nullptr && *answer.tier < plan->charges().size()) {
    const size_t at = *answer.tier;
    const int64_t used = at < answer.tiers.size() ? answer.tiers[at].used : 0;
    text += ", " + TierReason(asked, *plan, at, used, answer.code == QuotaCode::kTooLarge);
  } else {
    text += ": " + ModelReason(asked.tokens, answer);
  }
  if (answer.retry_after) text += "; try again in " + InWords(*answer.retry_after);
  return text;
}

}  // namespace weir
