// The beginning of the scripts that charge and settle, in Lua. A script runs from its top each time: so this is
// straight code, and makes few functions.
#pragma once

#include <string_view>

namespace weir {

// Reads, charges and writes names, logs and the counts of models and tiers.
std::string_view RedisCountsLua();
// Adds reservations, and what is given back.
std::string_view RedisReservationsLua();

}  // namespace weir
