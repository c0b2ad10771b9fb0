// Facts that a store must know of a server, from its INFO.
#pragma once

#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

inline constexpr int kOldestRedis = 7;

// Returns a field of an INFO, such as "redis_version"; empty if there is no such line.
std::string_view RedisInfoField(std::string_view info, std::string_view name);
// Checks INFO server: the scripts need Redis 7. A server that speaks Redis and states no version may pass.
Status CheckRedisServer(std::string_view info);
// Warns, by INFO memory, that the server throws keys away when its memory is full. Empty: it does not.
std::string WarnOfEviction(std::string_view info);

}  // namespace weir
