// Computes the amounts that a charge (quota_store.h) asks for, and the amounts that its settlement adds or releases
// later.
#pragma once

#include <algorithm>
#include <cstdint>

#include "throttle/quota/limit.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// Returns the amounts that the charge asks for.
inline Amounts AmountsOf(const Charge& charge) {
  return {.requests = charge.requests,
          .tokens = charge.tokens,
          .money = charge.money,
          .calls = charge.is_call ? charge.requests : 0};
}
inline int64_t AmountOf(const Charge& charge, Limit::Unit unit) { return AmountsOf(charge).Of(unit); }

// Returns true if the charge needs a counter for limits of this unit: if it asks for an amount of the unit. A
// reservation also needs the counters for tokens and money, even if it reserves none, because its settlement may add
// some.
inline bool Needs(const Charge& charge, Limit::Unit unit) {
  const bool is_settled = unit == Limit::Unit::kTokens || unit == Limit::Unit::kMoney;
  return AmountOf(charge, unit) > 0 || (charge.holds() && is_settled);
}

// Returns the tokens and the money that still have to be charged for a reservation that has used `used` by now.
// `charged` is what the reservation charged, and `told` is the use that was reported before; the larger of the two
// counts already.
inline Amounts UseBeyond(const Amounts& charged, const Amounts& told, const Amounts& used) {
  return {.tokens = std::max<int64_t>(0, used.tokens - std::max(charged.tokens, told.tokens)),
          .money = std::max<int64_t>(0, used.money - std::max(charged.money, told.money))};
}

// Returns what a reservation releases at its end. `used` is what it has used. The request stays charged if anything was
// used, or if `commits` is true (the end is a commit). A call (Amounts::calls) is always released.
inline Amounts UnusedOf(const Amounts& charged, const Amounts& used, bool commits) {
  return {.requests = commits || used != Amounts() ? 0 : charged.requests,
          .tokens = std::max<int64_t>(0, charged.tokens - used.tokens),
          .money = std::max<int64_t>(0, charged.money - used.money),
          .calls = charged.calls};
}

}  // namespace weir
