// Computes the amounts that a charge (quota_store.h) asks for, and the amounts that the settlement of a reservation
// charges or releases later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "throttle/limits/quota/limit.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// Returns the amounts that the charge asks for.
inline Amounts AmountsOf(const Charge& charge) {
  return {.requests = charge.requests,
          .tokens = charge.tokens,
          .money = charge.money,
          .calls = charge.is_call ? charge.requests : 0};
}
inline int64_t AmountOf(const Charge& charge, Limit::Unit unit) { return AmountsOf(charge).Of(unit); }

// Returns true if the charge needs the counters of limits of this unit: if it asks for more than 0 of the unit, or if
// it is a reservation and the unit is tokens or money. A reservation may reserve none of these, but its settlement may
// charge some.
inline bool Needs(const Charge& charge, Limit::Unit unit) {
  const bool is_settled = unit == Limit::Unit::kTokens || unit == Limit::Unit::kMoney;
  return AmountOf(charge, unit) > 0 || (charge.holds() && is_settled);
}

// Returns the tokens and the money that must be charged in addition once a reservation has used `used` in total.
// `charged` is what the reservation charged when it was made, and `told` is the total use that was reported before. The
// larger of these two amounts is charged already.
inline Amounts UseBeyond(const Amounts& charged, const Amounts& told, const Amounts& used) {
  return {.tokens = std::max<int64_t>(0, used.tokens - std::max(charged.tokens, told.tokens)),
          .money = std::max<int64_t>(0, used.money - std::max(charged.money, told.money))};
}

// Returns what a reservation releases when it ends; `used` is its total use. The request stays charged if `used` is not
// 0 or if `commits` is true (the reservation ends by a commit). A call (Amounts::calls) is always released.
inline Amounts UnusedOf(const Amounts& charged, const Amounts& used, bool commits) {
  return {.requests = commits || used != Amounts() ? 0 : charged.requests,
          .tokens = std::max<int64_t>(0, charged.tokens - used.tokens),
          .money = std::max<int64_t>(0, charged.money - used.money),
          .calls = charged.calls};
}

}  // namespace weir
