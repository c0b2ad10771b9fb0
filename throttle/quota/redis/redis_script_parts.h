// What the scripts that charge and settle begin with, in Lua. A script runs from its top each time: so it is straight,
// and makes few functions.
#pragma once

#include <string_view>

namespace weir {

// How names, logs and the counts of models and tiers are read, charged and written.
std::string_view RedisCountsLua();
// On top of these: reservations, and what is given back.
std::string_view RedisReservationsLua();

}  // namespace weir
