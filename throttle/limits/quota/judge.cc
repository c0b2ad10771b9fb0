#include "throttle/limits/quota/judge.h"

namespace weir {

void Refuse(QuotaCode code, Duration wait, std::optional<size_t> tier, ChargeAnswer* answer) {
  if (answer->code == QuotaCode::kTooLarge) return;
  if (answer->fits()) {
    answer->code = code;
    answer->tier = tier;
  }
  // At least 1 ns: if another program has changed the rows of a store, `wait` can be 0 or negative.
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
