// Whether a gate can decide, for /readyz and /v1/health.
#pragma once

#include "config/status.h"
#include "throttle/quota/quota_limiter.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// The error says what is wrong with the store. Where the policy is to go on without it, or nothing is refused anyway,
// there is none; nor where the store answers and has another problem, such as a file that it cannot write.
Status CanDecide(const StoreHealth& health, const QuotaConfig& config);

}  // namespace weir
