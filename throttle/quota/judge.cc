#include "throttle/quota/judge.h"

namespace weir {

void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier, ChargeAnswer* answer) {
  if (answer->code == QuotaCode::kTooLarge) return;
  if (answer->fits()) {
    answer->code = code;
    answer->tier = tier;
  }
  // Rows that other programs have changed may say that the charge should fit already.
  answer->retry_after = std::max({Duration(1), wait, answer->retry_after.value_or(wait)});
}

void RefuseTooLarge(Limit::Unit unit, std::optional<size_t> tier, ChargeAnswer* answer) {
  if (answer->code == QuotaCode::kTooLarge) return;
  answer->code = QuotaCode::kTooLarge;
  answer->tier = tier;
  answer->unit = unit;
  answer->retry_after.reset();
}

}  // namespace weir
