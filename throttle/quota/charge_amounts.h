// Amounts that a charge asks of a limit, and that its settlement adds or gives back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "throttle/quota/limit.h"
#include "throttle/quota/quota_store.h"

namespace weir {

inline Amounts AmountsOf(const Charge& charge) {
  return {.requests = charge.requests,
          .tokens = charge.tokens,
          .money = charge.money,
          .calls = charge.is_call ? charge.requests : 0};
}
inline int64_t AmountOf(const Charge& charge, Limit::Unit unit) { return AmountsOf(charge).Of(unit); }

// Returns true if the charge needs a count of this unit: a reservation settles its tokens and its money with every tier
// that limits them, even if it reserved none.
inline bool Needs(const Charge& charge, Limit::Unit unit) {
  const bool is_settled = unit == Limit::Unit::kTokens || unit == Limit::Unit::kMoney;
  return AmountOf(charge, unit) > 0 || (charge.holds() && is_settled);
}

// Returns what a reservation has used beyond what counts already: what it charged or, if that is more, the use that was
// reported (`told`) before.
inline Amounts UseBeyond(const Amounts& charged, const Amounts& told, const Amounts& used) {
  return {.tokens = std::max<int64_t>(0, used.tokens - std::max(charged.tokens, told.tokens)),
          .money = std::max<int64_t>(0, used.money - std::max(charged.money, told.money))};
}

// Returns what is given back when it ends. `commits`: it is committed, so the request stays charged even if the call
// used nothing.
inline Amounts UnusedOf(const Amounts& charged, const Amounts& used, bool commits) {
  return {.requests = commits || used != Amounts() ? 0 : charged.requests,
          .tokens = std::max<int64_t>(0, charged.tokens - used.tokens),
          .money = std::max<int64_t>(0, charged.money - used.money),
          .calls = charged.calls};
}

}  // namespace weir
