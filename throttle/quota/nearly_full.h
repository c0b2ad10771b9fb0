// What a store warns of when so much of its room for names, or for reservations, is taken.
#pragma once

#include <string_view>

namespace weir {

inline constexpr double kNearlyFull = 0.9;
inline constexpr std::string_view kNearlyFullWarning =
    "nine tenths of the names that it may hold are taken; when all are, new users and unknown models are refused "
    "(too_many_names): raise WEIR_QUOTA_MAX_MODELS and WEIR_QUOTA_MAX_TIER_KEYS, or see who invents names";
inline constexpr std::string_view kNearlyFullOfHoldsWarning =
    "nine tenths of the reservations that it may hold are open; when all are, no other is made (too_many_names): raise "
    "WEIR_QUOTA_MAX_RESERVATIONS, or see who neither commits nor refunds";

}  // namespace weir
