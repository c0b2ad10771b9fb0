// The Lua code with which each script (redis_script.h) begins. Redis runs a script from its first line in every call,
// so the code runs straight through and defines few functions.
#pragma once

#include <string_view>

namespace weir {

// Returns the code that reads, charges and writes names, logs, and the counters of models and tiers.
std::string_view RedisCountsLua();
// Returns the code that records reservations and their ends, and releases their amounts. RedisCountsLua comes before.
std::string_view RedisReservationsLua();

}  // namespace weir
