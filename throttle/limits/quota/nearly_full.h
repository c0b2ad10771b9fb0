// Warnings of a store (StoreHealth::warning in quota_store.h): it has little room left for names of counters or for
// open reservations, or it forgets idempotency keys too early.
#pragma once

#include <chrono>
#include <string_view>

#include "config/clock.h"

namespace weir {

// The share of its room from which on a store warns.
inline constexpr double kNearlyFull = 0.9;
inline constexpr std::string_view kNearlyFullWarning =
    "nine tenths of the names that it may hold are taken; when all are, new users and unknown models are refused "
    "(too_many_names): raise WEIR_QUOTA_MAX_MODELS and WEIR_QUOTA_MAX_TIER_KEYS, or find the client that invents names";
inline constexpr std::string_view kNearlyFullOfHoldsWarning =
    "nine tenths of the reservations that it may hold are open; when all are, no other is made (too_many_names): raise "
    "WEIR_QUOTA_MAX_RESERVATIONS, or find the client that neither commits nor refunds";

// How long a store repeats a warning after it has forgotten an idempotency key too early. In Redis, also how long it
// repeats a warning after a charge has found little room.
inline constexpr Duration kWarnedFor = std::chrono::minutes(10);
inline constexpr std::string_view kNamesLostWarning =
    "idempotency keys are forgotten before their day is over, because there are too many: a request that is sent again "
    "with one of them is charged again; raise WEIR_QUOTA_MAX_IDEMPOTENCY_KEYS (of a memory: or yaml: store "
    "WEIR_QUOTA_MAX_RESERVATIONS too), or find the client that sends so many";
// Returns true if an idempotency key was forgotten too early within the last kWarnedFor. `last` is the time at which
// that happened last; the epoch means never.
inline bool LostNamesOfLate(WallTime last, const WallClock& clock) { return clock.Now() - last < kWarnedFor; }

}  // namespace weir
