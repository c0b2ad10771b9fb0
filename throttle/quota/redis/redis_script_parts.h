// The Lua code with which each script (redis_script.h) begins. Redis runs a script from its first line in every call,
// so this is straight code, and defines few functions.
#pragma once

#include <string_view>

namespace weir {

// Reads, charges and writes names, logs, and the counters of models and tiers.
std::string_view RedisCountsLua();
// Records reservations and their ends, and releases what they hold. It uses RedisCountsLua, which must come before.
std::string_view RedisReservationsLua();

}  // namespace weir
