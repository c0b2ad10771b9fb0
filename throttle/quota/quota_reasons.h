// The sentences of decisions, for people and for logs: what, how much of how much, and when again. They never contain
// an API key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/tier_rules.h"

namespace weir {

// Returns "gpt-4o: 500 of 500 requests in the last minute; try again in 12 s"; empty if all is well. `plan` may be
// null.
std::string ReasonOf(std::string_view model, const Amounts& asked, const TierPlan* plan, const ChargeAnswer& answer);
std::string StoreAwayReason(std::string_view problem);

// Says why a reservation is not settled or extended as asked for; empty if it is.
std::string ReasonOf(const SettlementAnswer& answer);

}  // namespace weir
