// What a charge asks of a limit.
#pragma once

#include <cstdint>

#include "throttle/quota/limit.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// A reservation is a call under way; who only asks asks for one.
inline Amounts AmountsOf(const Charge& charge) {
  const bool calls = charge.holds() || charge.mode == Charge::Mode::kPeek;
  return {.requests = charge.requests,
          .tokens = charge.tokens,
          .money = charge.money,
          .calls = calls ? charge.requests : 0};
}
inline int64_t AmountOf(const Charge& charge, Limit::Unit unit) { return AmountsOf(charge).Of(unit); }

// Whether it needs a count there: a reservation settles its tokens and its money with every tier of them, also where it
// reserved none.
inline bool Needs(const Charge& charge, Limit::Unit unit) {
  const bool is_settled = unit == Limit::Unit::kTokens || unit == Limit::Unit::kMoney;
  return AmountOf(charge, unit) > 0 || (charge.holds() && is_settled);
}

}  // namespace weir
