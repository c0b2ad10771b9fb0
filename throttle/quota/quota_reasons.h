// The sentences of decisions, for people and for logs: what, how much of how much, and when again. An API key is not in
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/tier_rules.h"

namespace weir {

// "gpt-4o: 500 of 500 requests in the last minute; try again in 12 s". `plan` may be null; empty where all is well.
std::string ReasonOf(std::string_view model, const Amounts& asked, const TierPlan* plan, const ChargeAnswer& answer);
std::string StoreAwayReason(std::string_view problem);

// Why a reservation is not settled or extended as was asked for; empty where it is.
std::string ReasonOf(const SettlementAnswer& answer);

}  // namespace weir
