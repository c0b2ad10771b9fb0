// What a charge asks of a limit.
#pragma once

#include <cstdint>

#include "throttle/quota/limit.h"
#include "throttle/quota/quota_store.h"

namespace weir {

inline int64_t AmountOf(const Charge& charge, Limit::Unit unit) {
  return unit == Limit::Unit::kRequests ? charge.requests : charge.tokens;
}

// Whether it needs a count there: a reservation settles its tokens with every tier of tokens, also where it reserved
// none.
inline bool Needs(const Charge& charge, Limit::Unit unit) {
  return AmountOf(charge, unit) > 0 || (charge.holds() && unit == Limit::Unit::kTokens);
}

}  // namespace weir
