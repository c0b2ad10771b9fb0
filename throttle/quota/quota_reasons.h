// Explains decisions and settlements in sentences for people and for logs: what has been used of which limit, and when
// to try again. The sentences never contain an API key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "throttle/quota/quota_store.h"
#include "throttle/quota/tier_rules.h"

namespace weir {

// Returns a sentence such as "gpt-4o: 500 of 500 requests in the last minute; try again in 12 s"; empty for kOk.
// `asked` is what the charge asked for. `plan` has the charge's tiers; null: the charge has none.
std::string ReasonOf(std::string_view model, const Amounts& asked, const TierPlan* plan, const ChargeAnswer& answer);
// Returns the sentence for a store that does not answer. `problem` is what the store says; it may be empty.
std::string StoreAwayReason(std::string_view problem);

// Returns why a reservation was not settled or extended as asked for; empty for kSettled.
std::string ReasonOf(const SettlementAnswer& answer);

}  // namespace weir
