// The Lua code that the scripts (redis_script.h) have in common; each script begins with it. Redis runs the whole
// script for every call, so this code has few function definitions, each of which would cost time in every call.
#pragma once

#include <string_view>

namespace weir {

// Returns the code that reads, charges and writes names, logs, and the counters of models and tiers.
std::string_view RedisCountsLua();
// Returns the code that records reservations and their ends, and releases their amounts. It needs RedisCountsLua before
// it.
std::string_view RedisReservationsLua();

}  // namespace weir
