// Writes the sentences that explain decisions and settlements to people and in logs: how much of which limit is used,
// and when to try again. The sentences never contain an API key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/tier_rules.h"

namespace weir {

// Returns a sentence such as "gpt-4o: 500 of 500 requests in the last minute; try again in 12 s"; empty for kOk.
// `asked` has the amounts that the charge asked for. `plan` has the charge's tiers, and is null if it has none.
std::string ReasonOf(std::string_view model, const Amounts& asked, const TierPlan* plan, const ChargeAnswer& answer);
// Returns the sentence for a store that does not answer. `problem` is the message of the store, which may be empty.
std::string StoreAwayReason(std::string_view problem);

// Returns the reason why a reservation was not settled or extended as the caller asked; empty for kSettled.
std::string ReasonOf(const SettlementAnswer& answer);

}  // namespace weir
